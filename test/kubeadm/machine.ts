// A machine for kubeadm with its own network, mounts and host name, with containerd and without systemd.
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, openSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { runCommand, tryCommand } from '../../src/up/commands.ts';
import { hasSysResource } from '../../src/base/capabilities.ts';

/** Folders that kubeadm, the kubelet and containerd write to: each machine has its own. */
const ownFolders = [
  '/etc/kubernetes',
  '/etc/cni/net.d',
  '/run',
  '/var/lib/containerd',
  '/var/lib/cni',
  '/var/lib/etcd',
  '/var/lib/kubelet',
  '/var/log',
];

export interface MachineOptions {
  readonly name: string;
  readonly address: string;
  /** The folder of the test; the machine's folder is below it. */
  readonly folder: string;
  /** The network namespace with the bridge `br0` that connects the machines. */
  readonly wire: string;
  readonly programs: string;
  readonly kubelet: string;
  readonly hosts: string;
  readonly sandboxImage: string;
}

export class Machine {
  readonly #options: MachineOptions;
  readonly #holder: ChildProcess;
  #containerd: ChildProcess | undefined;

  private constructor(options: MachineOptions, holder: ChildProcess) {
    this.#options = options;
    this.#holder = holder;
  }

  static async start(options: MachineOptions): Promise<Machine> {
    const { name, address, folder, wire } = options;
    const namespace = `${wire}-${name}`;
    await runCommand(['ip', 'netns', 'add', namespace]);
    await runCommand([
      'ip',
      '-n',
      wire,
      'link',
      'add',
      `to-${name}`,
      'type',
      'veth',
      'peer',
      'eth0',
      'netns',
      namespace,
    ]);
    await runCommand(['ip', '-n', wire, 'link', 'set', `to-${name}`, 'master', 'br0', 'up']);
    await runCommand(['ip', '-n', namespace, 'addr', 'add', `${address}/24`, 'dev', 'eth0']);
    for (const link of ['lo', 'eth0']) await runCommand(['ip', '-n', namespace, 'link', 'set', link, 'up']);
    await runCommand(['ip', '-n', namespace, 'route', 'add', 'default', 'via', `${address.replace(/\d+$/, '')}1`]);
    const log = openSync(path.join(folder, `${name}.log`), 'a');
    const enter = ['--net=/run/netns/' + namespace, 'unshare', '--mount', '--uts', '--propagation', 'private'];
    const holder = spawn('nsenter', [...enter, 'sh', '-euc', `${mountScript(options)}\nexec sleep infinity`], {
      stdio: ['ignore', log, log],
    });
    await once(holder, 'spawn');
    const machine = new Machine(options, holder);
    await machine.#until(
      async () => (await machine.try(['test', '-e', '/run/machine-is-ready'])).code === 0,
      'its mounts',
    );
    await machine.#startContainerd(log);
    return machine;
  }

  get name(): string {
    return this.#options.name;
  }

  async run(argv: readonly string[]): Promise<string> {
    return runCommand(this.#inside(argv));
  }

  async try(argv: readonly string[], input?: Buffer): ReturnType<typeof tryCommand> {
    return tryCommand(this.#inside(argv), input);
  }

  /** Starts a long-running program; its output goes to `log`. The caller must end it. */
  begin(argv: readonly string[], log: string): ChildProcess {
    const [program = '', ...args] = this.#inside(argv);
    const output = openSync(log, 'a');
    return spawn(program, args, { stdio: ['ignore', output, output] });
  }

  async importImages(archive: string): Promise<void> {
    await this.run(['ctr', '-n', 'k8s.io', 'images', 'import', '--all-platforms', archive]);
  }

  /** Creates the bridge for pods in the node's range, and the routes to the ranges of other machines. */
  async connectPods(
    range: string,
    others: readonly { readonly range: string; readonly address: string }[],
  ): Promise<void> {
    const network = {
      cniVersion: '1.0.0',
      name: 'pods',
      plugins: [
        {
          type: 'bridge',
          bridge: 'cni0',
          isGateway: true,
          hairpinMode: true,
          ipam: { type: 'host-local', ranges: [[{ subnet: range }]], routes: [{ dst: '0.0.0.0/0' }] },
        },
        { type: 'portmap', capabilities: { portMappings: true } },
      ],
    };
    await this.run(['sh', '-c', `printf %s "$0" > /etc/cni/net.d/10-pods.conflist`, JSON.stringify(network)]);
    for (const other of others) await this.run(['ip', 'route', 'replace', other.range, 'via', other.address]);
  }

  async stop(): Promise<void> {
    await this.try(['systemctl', 'stop', 'kubelet']);
    const listed = await this.try(['ctr', '-n', 'k8s.io', 'tasks', 'list', '-q']);
    for (const id of listed.stdout.split('\n').filter((line) => line !== ''))
      await this.try(['ctr', '-n', 'k8s.io', 'tasks', 'kill', '-a', '-s', 'SIGKILL', id]);
    for (const id of listed.stdout.split('\n').filter((line) => line !== ''))
      await this.try(['ctr', '-n', 'k8s.io', 'tasks', 'delete', '-f', id]);
    await this.try([
      'sh',
      '-c',
      'for c in $(ctr -n k8s.io containers list -q); do ctr -n k8s.io containers delete $c; done',
    ]);
    for (const child of [this.#containerd, this.#holder]) {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) continue;
      child.kill();
      await once(child, 'exit');
    }
    await tryCommand(['ip', 'netns', 'delete', `${this.#options.wire}-${this.name}`]);
  }

  #inside(argv: readonly string[]): string[] {
    const { programs, kubelet } = this.#options;
    const searched = `${path.join(import.meta.dirname)}:${programs}:${process.env['PATH'] ?? ''}:/usr/sbin:/sbin`;
    const target = String(this.#holder.pid);
    return [
      'nsenter',
      '-t',
      target,
      '-m',
      '-u',
      '-n',
      'env',
      `PATH=${searched}`,
      `KUBELET=${kubelet}`,
      'HOME=/root',
      ...argv,
    ];
  }

  async #startContainerd(log: number): Promise<void> {
    const config = path.join(this.#options.folder, `${this.name}-containerd.toml`);
    writeFileSync(config, containerdConfig(this.#options.sandboxImage));
    const [program = '', ...args] = this.#inside(['containerd', '--config', config]);
    this.#containerd = spawn(program, args, { stdio: ['ignore', log, log] });
    await this.#until(async () => (await this.try(['ctr', 'version'])).code === 0, 'its containerd');
  }

  async #until(isSo: () => Promise<boolean>, what: string): Promise<void> {
    for (let tries = 0; tries < 300; tries++) {
      if (await isSo()) return;
      await new Promise((resolve) => void setTimeout(resolve, 100));
    }
    throw new Error(`${this.name} did not get ${what}: see ${path.join(this.#options.folder, `${this.name}.log`)}`);
  }
}

/**
 * Creates the mount points for a machine's folders on this machine. Returns a function that removes those it created,
 * if they are still empty.
 */
export function makePlaces(): () => void {
  const made: string[] = [];
  for (const place of ownFolders) {
    const first = mkdirSync(place, { recursive: true });
    if (first === undefined) continue;
    for (let folder = place; folder !== path.dirname(first); folder = path.dirname(folder)) made.push(folder);
  }
  return () => {
    for (const folder of made) if (readdirSync(folder).length === 0) rmdirSync(folder);
  };
}

/** The script that runs in new mount and UTS namespaces. */
function mountScript({ name, folder, hosts }: MachineOptions): string {
  const own = path.join(folder, name);
  const lines = ['mount --make-rshared /', `hostname ${name}`, `mount --bind ${hosts} /etc/hosts`];
  for (const place of ownFolders) {
    mkdirSync(path.join(own, place), { recursive: true });
    lines.push(`mount --bind ${path.join(own, place)} ${place}`);
  }
  lines.push('touch /run/machine-is-ready');
  return lines.join('\n');
}

function containerdConfig(sandboxImage: string): string {
  const maySetScore = hasSysResource(readFileSync('/proc/self/status', 'utf8'));
  return `version = 2
disabled_plugins = ["io.containerd.internal.v1.opt"]
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${sandboxImage}"
  restrict_oom_score_adj = ${String(!maySetScore)}
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/etc/cni/net.d"
`;
}

/**
 * Creates a bridge in its own namespace, without a route to this machine's networks. `subnet`: the first three numbers
 * of its range of 256 addresses.
 */
export async function makeWire(wire: string, subnet: string): Promise<void> {
  await runCommand(['ip', 'netns', 'add', wire]);
  await runCommand(['ip', '-n', wire, 'link', 'add', 'br0', 'type', 'bridge']);
  await runCommand(['ip', '-n', wire, 'addr', 'add', `${subnet}.1/24`, 'dev', 'br0']);
  await runCommand(['ip', '-n', wire, 'link', 'set', 'br0', 'up']);
}

/** The folders of the cgroup, one in each hierarchy. */
export async function cgroupFolders(name: string): Promise<string[]> {
  const mounts = await runCommand(['findmnt', '-rn', '-t', 'cgroup,cgroup2', '-o', 'TARGET']);
  return mounts
    .trim()
    .split('\n')
    .map((mount) => path.join(mount, name));
}
