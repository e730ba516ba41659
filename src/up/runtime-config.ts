/** Renders the configuration of our own containerd and of its CNI network. Pure. */
import { KubeletError } from '../base/errors.ts';
import type { Instance } from './instance.ts';
import { needsRunscAdapter } from './runsc-adapter.ts';
import type { Subnet } from './subnet.ts';

export type Snapshotter = 'overlayfs' | 'native';

export interface ContainerdFacts {
  /** From `containerd --version`: 1 or 2. */
  readonly majorVersion: number;
  readonly minorVersion: number;
  /** Without CAP_SYS_RESOURCE no process may lower an oom_score_adj, and every sandbox start would fail. */
  readonly maySetOomScore: boolean;
  readonly snapshotter: Snapshotter;
  readonly cniBinDir: string;
  readonly sandboxImage: string;
  /** Further runtime handlers, each a runc-compatible program, by name. */
  readonly handlers?: Readonly<Record<string, string>>;
  /** cgroupfs unless given. */
  readonly cgroupDriver?: CgroupDriver;
}

/** Who creates the pods' cgroups: containerd directly, or systemd. */
export type CgroupDriver = 'cgroupfs' | 'systemd';

/**
 * `containerd github.com/containerd/containerd v1.7.22 7f7...` and Debian's `1.6.20~ds1` alike. Throws `Unimplemented`
 * before 1.6.
 */
export function parseContainerdVersion(output: string): { majorVersion: number; minorVersion: number } {
  const match = /\bv?(\d+)\.(\d+)\.\d+/.exec(output);
  if (match === null) throw new KubeletError('Invalid', `cannot read containerd's version from: ${output.trim()}`);
  const majorVersion = Number(match[1]);
  const minorVersion = Number(match[2]);
  if (majorVersion < 1 || (majorVersion === 1 && minorVersion < 6)) {
    throw new KubeletError(
      'Unimplemented',
      `containerd ${majorVersion}.${minorVersion} is too old, 1.6 is the oldest with CRI v1`,
    );
  }
  return { majorVersion, minorVersion };
}

/** Unused plugins, disabled to keep containerd small; `opt` would create /opt/containerd. */
const unusedPluginsV1 = [
  'io.containerd.snapshotter.v1.aufs',
  'io.containerd.snapshotter.v1.btrfs',
  'io.containerd.snapshotter.v1.devmapper',
  'io.containerd.snapshotter.v1.zfs',
  'io.containerd.internal.v1.opt',
  'io.containerd.internal.v1.restart',
  'io.containerd.internal.v1.tracing',
  'io.containerd.tracing.processor.v1.otlp',
];
const unusedPluginsV2 = [
  'io.containerd.snapshotter.v1.blockfile',
  'io.containerd.snapshotter.v1.btrfs',
  'io.containerd.snapshotter.v1.devmapper',
  'io.containerd.snapshotter.v1.erofs',
  'io.containerd.snapshotter.v1.zfs',
  'io.containerd.differ.v1.erofs',
  'io.containerd.internal.v1.opt',
  'io.containerd.monitor.container.v1.restart',
  'io.containerd.internal.v1.tracing',
  'io.containerd.tracing.processor.v1.otlp',
];

type TomlValue = string | number | boolean | readonly string[];
type TomlTable = Readonly<Record<string, TomlValue>>;

export function renderContainerdConfig(instance: Instance, facts: ContainerdFacts): string {
  const v2 = facts.majorVersion >= 2;
  const tables: [string, TomlTable][] = [
    ['grpc', { address: instance.containerdSocket }],
    ['ttrpc', { address: `${instance.containerdSocket}.ttrpc` }],
    ...(v2 ? criTablesV3(instance, facts) : criTablesV2(instance, facts)),
  ];
  const head: TomlTable = {
    version: v2 ? 3 : 2,
    root: instance.containerdRoot,
    state: instance.containerdState,
    disabled_plugins: v2 ? unusedPluginsV2 : unusedPluginsV1,
  };
  return `# Written by kubelet-ts at each start; changes are lost.\n${renderTable(head)}${tables.map(([name, table]) => `\n[${name}]\n${renderTable(table)}`).join('')}`;
}

/** containerd 1.6 and 1.7. */
function criTablesV2(instance: Instance, facts: ContainerdFacts): [string, TomlTable][] {
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  return [
    [
      cri,
      {
        sandbox_image: facts.sandboxImage,
        restrict_oom_score_adj: !facts.maySetOomScore,
        netns_mounts_under_state_dir: true,
        stream_server_address: '127.0.0.1',
        stream_server_port: '0',
      },
    ],
    [`${cri}.cni`, { bin_dir: facts.cniBinDir, conf_dir: instance.cniConfDir, max_conf_num: 1 }],
    [`${cri}.registry`, { config_path: instance.registryCertsDir }],
    [`${cri}.containerd`, { snapshotter: facts.snapshotter, default_runtime_name: 'runc' }],
    ...runcTables(`${cri}.containerd`, instance, facts),
  ];
}

/** containerd 2.x, where the image and the runtime half are plugins of their own. */
function criTablesV3(instance: Instance, facts: ContainerdFacts): [string, TomlTable][] {
  const images = "plugins.'io.containerd.cri.v1.images'";
  const runtime = "plugins.'io.containerd.cri.v1.runtime'";
  // `bin_dirs` replaced `bin_dir` in 2.1. Versions from 2.1 refuse a file with both, and deprecate the older name
  // later.
  const binDir: TomlTable =
    facts.majorVersion > 2 || facts.minorVersion >= 1 ? { bin_dirs: [facts.cniBinDir] } : { bin_dir: facts.cniBinDir };
  return [
    [images, { snapshotter: facts.snapshotter }],
    [`${images}.pinned_images`, { sandbox: facts.sandboxImage }],
    [`${images}.registry`, { config_path: instance.registryCertsDir }],
    [runtime, { restrict_oom_score_adj: !facts.maySetOomScore, netns_mounts_under_state_dir: true }],
    [`${runtime}.cni`, { ...binDir, conf_dir: instance.cniConfDir, max_conf_num: 1 }],
    [`${runtime}.containerd`, { default_runtime_name: 'runc' }],
    ...runcTables(`${runtime}.containerd`, instance, facts),
    ["plugins.'io.containerd.grpc.v1.cri'", { stream_server_address: '127.0.0.1', stream_server_port: '0' }],
    ["plugins.'io.containerd.transfer.v1.local'", { config_path: instance.registryCertsDir }],
  ];
}

/** For a handler whose program is called through an adapter. */
export const adapterPath = ({ runDir }: Pick<Instance, 'runDir'>, handler: string): string =>
  `${runDir}/handler-${handler}`;

function runcTables(
  parent: string,
  instance: Instance,
  { handlers = {}, cgroupDriver }: ContainerdFacts,
): [string, TomlTable][] {
  // Root: by default runc's state would be in /run/containerd, which all containerds share.
  const common = { SystemdCgroup: cgroupDriver === 'systemd', Root: `${instance.containerdState}/runc` };
  const tables = (name: string, options: TomlTable): [string, TomlTable][] => [
    [`${parent}.runtimes.${name}`, { runtime_type: 'io.containerd.runc.v2' }],
    [`${parent}.runtimes.${name}.options`, options],
  ];
  return [
    ...tables('runc', common),
    ...Object.entries(handlers).flatMap(([name, program]) => {
      const called = needsRunscAdapter(program) ? adapterPath(instance, name) : program;
      return tables(name, { ...common, BinaryName: called });
    }),
  ];
}

function renderTable(table: TomlTable): string {
  return Object.entries(table)
    .map(([key, value]) => `${key} = ${renderValue(value)}\n`)
    .join('');
}

/** JSON's strings are TOML's basic strings as long as no lone surrogate is in them. */
function renderValue(value: TomlValue): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return `[${value.map((item) => JSON.stringify(item)).join(', ')}]`;
}

/**
 * Masquerading is one rule of ours for the whole subnet instead of several per pod: that saves iptables runs on every
 * pod start.
 */
export function renderCniConfig(instance: Instance, subnets: readonly Subnet[]): string {
  const bridge = {
    type: 'bridge',
    bridge: instance.bridge,
    isGateway: true,
    ipMasq: false,
    hairpinMode: true,
    ipam: {
      type: 'host-local',
      dataDir: instance.ipamDir,
      ranges: subnets.map(({ cidr, gateway }) => [{ subnet: cidr, gateway }]),
      routes: subnets.map(({ cidr }) => ({ dst: cidr.includes(':') ? '::/0' : '0.0.0.0/0' })),
    },
  };
  const portmap = { type: 'portmap', capabilities: { portMappings: true }, snat: true };
  return `${JSON.stringify({ cniVersion: '0.4.0', name: instance.networkName, plugins: [bridge, portmap] }, null, 2)}\n`;
}
