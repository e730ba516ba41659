// The disk of the virtual machine of `npm run test:vm`: Debian 12 from Debian's packages, made once and kept until this
// file or the list of packages changes.
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import type { ProgramLimits } from './vm-program.ts';
import { runProgram } from './vm-program.ts';

const RELEASE = 'bookworm';
/** What a machine needs that is not one yet. Without a network it cannot fetch anything later. */
const systemPackages = [
  'linux-image-cloud-amd64',
  'initramfs-tools',
  'systemd-sysv',
  'dbus',
  'udev',
  'kmod',
  'procps',
  'busybox-static',
  'curl',
  'ca-certificates',
  // Of node_modules' Node.
  'libatomic1',
  'libstdc++6',
];
/** Programs that only tests in this machine use: a runtime with a kernel of its own, and servers of network storage. */
const testPackages = ['runsc', 'nfs-kernel-server', 'tgt', 'open-iscsi', 'e2fsprogs'];
/** The tests start what they need of these. The others would only take time from the tests. */
const maskedUnits = [
  'containerd.service',
  'docker-registry.service',
  'etcd.service',
  'apt-daily.timer',
  'apt-daily-upgrade.timer',
  'dpkg-db-backup.timer',
  'e2scrub_all.timer',
  'e2scrub_reap.service',
  'getty.target',
  'fstrim.timer',
  'docker.service',
  'docker.socket',
  'iscsid.service',
  'iscsid.socket',
  'open-iscsi.service',
  'nfs-server.service',
  'nfs-blkmap.service',
  'rpcbind.service',
  'rpcbind.socket',
  'rpc-statd.service',
  'tgt.service',
];
const DISK_SIZE = '8G';
const BUILD_TIMEOUT_MS = 30 * 60_000;

export const ROOT_LABEL = 'kubelet-ts-vm';
export const REPOSITORY_LABEL = 'repository';
/** Channels between the two machines: what the tests print, and at the end their exit code. */
export const OUTPUT_PORT = 'output';
export const RESULT_PORT = 'result';

const UNIT = `[Unit]
Description=Tests of kubelet-ts
After=dbus.socket systemd-udevd.service

[Service]
Type=oneshot
ExecStart=/usr/local/sbin/run-tests
TimeoutStartSec=infinity
LimitNOFILE=1048576

[Install]
WantedBy=multi-user.target
`;

/** Everything the tests make is gone with the machine, so it is switched off without ceremony. */
const RUN_TESTS = `#!/bin/sh
until [ -e /dev/virtio-ports/${RESULT_PORT} ] && [ -e /dev/virtio-ports/${OUTPUT_PORT} ]; do sleep 0.1; done
exec >/dev/virtio-ports/${OUTPUT_PORT} 2>&1 </dev/null
echo "the machine is up after $(cut -d ' ' -f 1 /proc/uptime) s"
HOME=/root
PATH=/repository/node_modules/.bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME PATH
# Programs and tests as they are compiled once are not compiled again; those that the tests start are already built.
export NODE_COMPILE_CACHE=/var/cache/node KUBELET_TEST_BUILD=/repository
# A node has an address. Nothing answers on this one's network.
ip link add eth0 type dummy && ip link set eth0 up
ip address add 192.0.2.1/24 dev eth0 && ip route add default via 192.0.2.2
mkdir -p /repository
code=1
if mount LABEL=${REPOSITORY_LABEL} /repository && cd /repository; then
  node scripts/vm-stages.ts
  code=$?
fi
echo "$code" >/dev/virtio-ports/${RESULT_PORT}
exec systemctl poweroff --force --force >/dev/console 2>&1
`;

export interface VmImage {
  readonly disk: string;
  readonly kernel: string;
  readonly initrd: string;
}

/** The packages that scripts/setup-machine.sh installs for tests. */
export function packagesOfSetup(setupScript: string): string[] {
  return [...new Set([...setupScript.matchAll(/\bneed ([a-z0-9][a-z0-9+.-]*) "/g)].map((match) => match[1] ?? ''))];
}

/** `apt-get indextargets` prints one such line for each index of packages. */
const TARGET_FORMAT = '$(CREATED_BY) $(ORIGIN) $(LABEL) $(CODENAME) $(REPO_URI)';

/**
 * Lines for a sources.list of Debian 12, from the package sources of this machine. Where those are of another release of
 * Debian, its mirror has this one too.
 */
export function debianSources(indexTargets: string): string[] {
  const found = indexTargets
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([createdBy, origin]) => createdBy === 'Packages' && origin === 'Debian')
    .map(([, , label = '', codename = '', uri = '']) => ({ label, codename, uri }));
  const ofRelease = found.filter(({ codename }) => codename === RELEASE || codename.startsWith(`${RELEASE}-`));
  const usable =
    ofRelease.length > 0
      ? ofRelease
      : found.filter(({ label }) => label === 'Debian').map((one) => ({ ...one, codename: RELEASE }));
  return [...new Set(usable.map(({ uri, codename }) => `deb ${uri} ${codename} main`))];
}

/** What this machine's apt needs to reach its package sources, such as a proxy. `apt-config dump` has it. */
export function aptOptions(dump: string): string[] {
  return dump
    .split('\n')
    .filter(
      (line) => /^Acquire::(?:https?::|Check-Valid-Until |Check-Date |Retries )/.test(line) && !line.endsWith(' "";'),
    )
    .map((line) => line.trim());
}

export function mmdebstrapArguments(parts: {
  readonly target: string;
  readonly sources: readonly string[];
  readonly packages: readonly string[];
  readonly options: readonly string[];
}): string[] {
  return [
    'mmdebstrap',
    '--mode=root',
    '--format=directory',
    '--variant=minbase',
    '--architectures=amd64',
    ...['doc', 'man', 'locale', 'info'].map((folder) => `--dpkgopt=path-exclude=/usr/share/${folder}/*`),
    ...parts.options.map((option) => `--aptopt=${option}`),
    `--include=${parts.packages.join(',')}`,
    RELEASE,
    parts.target,
    ...parts.sources,
  ];
}

/** A file system of that size with the files of a folder. Nothing is mounted. */
export async function makeDisk(
  disk: string,
  from: string,
  { label, size }: { label: string; size: string },
  limits: ProgramLimits,
): Promise<void> {
  await runProgram(['mke2fs', '-q', '-t', 'ext4', '-m', '0', '-L', label, '-d', from, disk, size], limits);
}

/** What a disk is made from; another disk has another key. */
export function imageKey(packages: readonly string[], source: string): string {
  return createHash('sha256')
    .update(JSON.stringify([packages, source]))
    .digest('hex')
    .slice(0, 12);
}

/** The disk in the cache, made if it is not there. Earlier disks are removed. */
export async function ensureImage(
  parts: { readonly root: string; readonly cache: string; readonly scratch: string; say: (text: string) => void },
  signal: AbortSignal,
): Promise<VmImage> {
  const packages = [
    ...systemPackages,
    ...testPackages,
    ...packagesOfSetup(readFileSync(path.join(parts.root, 'scripts/setup-machine.sh'), 'utf8')),
  ];
  const folder = path.join(parts.cache, `disk-${imageKey(packages, readFileSync(import.meta.filename, 'utf8'))}`);
  const image = imageIn(folder);
  if (existsSync(image.disk)) return image;
  const startMs = performance.now();
  parts.say('making the disk: Debian 12 from the package sources of this machine; this takes some minutes');
  const made = path.join(parts.scratch, 'image');
  await buildImage(imageIn(made), packages, { timeoutMs: BUILD_TIMEOUT_MS, signal });
  for (const name of readdirSync(parts.cache).filter((each) => each.startsWith('disk-')))
    rmSync(path.join(parts.cache, name), { recursive: true, force: true });
  renameSync(made, folder);
  parts.say(`the disk was made in ${((performance.now() - startMs) / 1000).toFixed(0)} s`);
  return image;
}

const imageIn = (folder: string): VmImage => ({
  disk: path.join(folder, 'disk.img'),
  kernel: path.join(folder, 'vmlinuz'),
  initrd: path.join(folder, 'initrd.img'),
});

async function buildImage(image: VmImage, packages: readonly string[], limits: ProgramLimits): Promise<void> {
  const target = path.join(path.dirname(image.disk), 'root');
  mkdirSync(path.dirname(target), { recursive: true });
  await installDebian(target, packages, limits);
  configure(target);
  // Debian keeps links to the newest ones here.
  copyFileSync(path.join(target, 'vmlinuz'), image.kernel);
  copyFileSync(path.join(target, 'initrd.img'), image.initrd);
  await makeDisk(image.disk, target, { label: ROOT_LABEL, size: DISK_SIZE }, limits);
  rmSync(target, { recursive: true, force: true });
}

/** Debian 12 with these packages in a new folder, from the package sources of this machine. */
export async function installDebian(target: string, packages: readonly string[], limits: ProgramLimits): Promise<void> {
  const sources = debianSources(await runProgram(['apt-get', 'indextargets', '--format', TARGET_FORMAT], limits));
  if (sources.length === 0)
    throw new Error("no package source of Debian is among this machine's apt sources (or run apt-get update first)");
  const options = aptOptions(await runProgram(['apt-config', 'dump'], limits));
  await runProgram(mmdebstrapArguments({ target, sources, packages, options }), limits);
}

/** Turns the installed packages into a machine that runs the tests when it starts. */
function configure(target: string): void {
  const units = path.join(target, 'etc/systemd/system');
  const at = (name: string): string => path.join(target, 'etc', name);
  writeFileSync(at('hostname'), 'vm\n');
  writeFileSync(at('hosts'), '127.0.0.1 localhost vm\n');
  writeFileSync(at('fstab'), '');
  rmSync(at('resolv.conf'), { force: true });
  writeFileSync(at('resolv.conf'), 'nameserver 127.0.0.1\n');
  rmSync(at('machine-id'), { force: true });
  writeFileSync(at('machine-id'), `${createHash('md5').update(ROOT_LABEL).digest('hex')}\n`);
  for (const unit of maskedUnits) {
    rmSync(path.join(units, unit), { force: true });
    symlinkSync('/dev/null', path.join(units, unit));
  }
  writeFileSync(path.join(units, 'run-tests.service'), UNIT);
  mkdirSync(path.join(units, 'multi-user.target.wants'), { recursive: true });
  symlinkSync('../run-tests.service', path.join(units, 'multi-user.target.wants/run-tests.service'));
  writeFileSync(path.join(target, 'usr/local/sbin/run-tests'), RUN_TESTS, { mode: 0o755 });
}
