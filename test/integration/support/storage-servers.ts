// Servers of network storage on this machine: NFS by the kernel, iSCSI by tgtd, and a SCSI disk of the kernel in place
// of one on Fibre Channel. They need modules and programs that few machines have; the virtual machine of `npm run
// test:vm` has all of them.
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { accepts } from '../../../src/up/containerd.ts';
import { machineEnvironment, runCommand, tryCommand } from '../../../src/up/commands.ts';
import { waitUntil } from './patience.ts';

const START_MS = 20_000;
/** Set in the virtual machine: a test that lacks something fails there instead of being skipped. */
const needsAll = process.env['KUBELET_TEST_ALL_MEANS'] === '1';

/** Why tests that need these modules and programs are skipped; false if everything is available. */
export async function missingMeans(modules: readonly string[], programs: readonly string[]): Promise<string | false> {
  const env = machineEnvironment();
  const folders = (env['PATH'] ?? '').split(':');
  const programsLeft = programs.filter((name) => !folders.some((folder) => existsSync(join(folder, name))));
  const modulesLeft: string[] = [];
  if (programsLeft.length === 0)
    for (const name of modules)
      if ((await tryCommand(['modprobe', name]).catch(() => ({ code: 1 }))).code !== 0) modulesLeft.push(name);
  const left = [
    ...programsLeft.map((name) => `the program ${name}`),
    ...modulesLeft.map((name) => `the module ${name}`),
  ];
  if (left.length === 0) return false;
  const why = `this machine lacks ${left.join(', ')}; npm run test:vm has it`;
  if (needsAll) throw new Error(why);
  return why;
}

async function startServer(argv: readonly string[], serves: () => Promise<boolean>): Promise<ChildProcess> {
  const [program = '', ...args] = argv;
  const child = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'], env: machineEnvironment() });
  await once(child, 'spawn');
  if (await waitUntil(async () => child.exitCode !== null || (await serves()), START_MS, 50)) {
    if (child.exitCode === null) return child;
  }
  child.kill('SIGKILL');
  throw new Error(`${argv.join(' ')} does not serve`);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

export interface StorageServer {
  stop(): Promise<void>;
}

/** Exports `folder` to this machine as the root of an NFS 4 server on the loopback address. */
export async function startNfsServer(folder: string): Promise<StorageServer> {
  mkdirSync(folder, { recursive: true });
  if (!existsSync('/proc/fs/nfsd/threads')) await runCommand(['mount', '-t', 'nfsd', 'nfsd', '/proc/fs/nfsd']);
  const mountd = await startServer(['rpc.mountd', '--foreground', '--no-nfs-version', '3'], async () =>
    existsSync('/proc/net/rpc/nfsd.export/channel'),
  );
  const exported = `127.0.0.1:${folder}`;
  await runCommand(['exportfs', '-o', 'rw,no_root_squash,insecure,fsid=0,no_subtree_check', exported]);
  await runCommand(['rpc.nfsd', '--no-nfs-version', '3', '--no-udp', '--host', '127.0.0.1', '2']);
  return {
    stop: async () => {
      await runCommand(['rpc.nfsd', '0']);
      await runCommand(['exportfs', '-u', exported]);
      await end(mountd);
    },
  };
}

export const ISCSI_PORTAL = '127.0.0.1:3260';
export const ISCSI_TARGET = 'iqn.2026-11.test.kubelet-ts:disk';
/** The credentials of clients; tgtd requires at least twelve characters. */
export const iscsiAccount = { user: 'pod', password: 'twelve-and-more' } as const;

/** Starts a target with one disk, LUN 1, for clients with the credentials; and the daemon of the clients. */
export async function startIscsiTarget(folder: string): Promise<StorageServer> {
  mkdirSync(folder, { recursive: true });
  const disk = join(folder, 'disk.img');
  await runCommand(['truncate', '--size', '64M', disk]);
  const daemons = [
    await startServer(
      ['tgtd', '--foreground', '--iscsi', `portal=${ISCSI_PORTAL}`],
      async () => (await tryCommand(['tgtadm', '--lld', 'iscsi', '--mode', 'sys', '--op', 'show'])).code === 0,
    ),
  ];
  const tgt = (text: string): Promise<string> => runCommand(['tgtadm', '--lld', 'iscsi', ...text.split(' ')]);
  const { user, password } = iscsiAccount;
  await tgt(`--mode target --op new --tid 1 --targetname ${ISCSI_TARGET}`);
  await tgt(`--mode logicalunit --op new --tid 1 --lun 1 --backing-store ${disk}`);
  await tgt(`--mode account --op new --user ${user} --password ${password}`);
  await tgt(`--mode account --op bind --tid 1 --user ${user}`);
  await tgt('--mode target --op bind --tid 1 --initiator-address ALL');
  daemons.push(await startServer(['iscsid', '--foreground'], () => accepts('\0ISCSIADM_ABSTRACT_NAMESPACE')));
  return {
    stop: async () => {
      await tryCommand(['iscsiadm', '-m', 'node', '--logout']);
      for (const daemon of daemons.toReversed()) {
        daemon.kill('SIGKILL');
        await end(daemon);
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The number of sessions with that target. */
export async function iscsiSessions(): Promise<string[]> {
  const { stdout } = await tryCommand(['iscsiadm', '-m', 'session']);
  return stdout.split('\n').filter((line) => line.includes(ISCSI_TARGET));
}

export const FC_WWN = '500a0981891b8dc5';
const RULES = '/run/udev/rules.d/99-kubelet-ts-test.rules';
const BY_PATH = '/dev/disk/by-path';
const BY_ID = '/dev/disk/by-id';
const FC_LINK = `pci-0000:00:10.0-fc-0x${FC_WWN}-lun-0`;

/**
 * A disk of the kernel's SCSI test driver, which udev gives the name of a Fibre Channel disk. `wwid`: another name that
 * a volume can use.
 */
export async function startFibreChannelDisk(): Promise<StorageServer & { readonly wwid: string }> {
  await tryCommand(['modprobe', '--remove', 'scsi_debug']);
  mkdirSync('/run/udev/rules.d', { recursive: true });
  writeFileSync(
    RULES,
    `ACTION=="add|change", SUBSYSTEM=="block", ENV{ID_MODEL}=="scsi_debug", SYMLINK+="disk/by-path/${FC_LINK}"\n`,
  );
  await runCommand(['udevadm', 'control', '--reload']);
  await runCommand(['modprobe', 'scsi_debug', 'dev_size_mb=64']);
  await runCommand(['udevadm', 'settle']);
  const wwid = readdirSync(BY_ID)
    .find((name) => /^scsi-3/.test(name))
    ?.slice('scsi-'.length);
  if (wwid === undefined || !existsSync(join(BY_PATH, FC_LINK))) throw new Error('udev does not show the SCSI disk');
  return {
    wwid,
    stop: async () => {
      rmSync(RULES, { force: true });
      await tryCommand(['modprobe', '--remove', 'scsi_debug']);
    },
  };
}

export const isFibreChannelDiskThere = (): boolean => existsSync(join(BY_PATH, FC_LINK));
