import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorKind, KubeletError } from '../../../base/errors.ts';
import type { runKillable } from '../process/linux-killable.ts';
import { LinuxMounts } from './linux-mounts.ts';

type Run = typeof runKillable;

test('a hung mount is not started again until the first attempt is gone', async () => {
  let exit = (): void => undefined;
  const started: string[] = [];
  const run: Run = async (program, args, options) => {
    started.push([program, ...args].join(' '));
    exit = options.onExit ?? exit;
    throw new KubeletError('Timeout', 'no answer');
  };
  const mounts = new LinuxMounts({ run });
  const mount = (): Promise<void> => mounts.mountTmpfs('/x', { sizeBytes: 1024.7, mode: 0o700 });
  await assert.rejects(mount(), (error) => errorKind(error) === 'Timeout');
  await assert.rejects(mount(), (error) => errorKind(error) === 'Unavailable');
  await assert.rejects(mounts.mountTmpfs('/other', {}), (error) => errorKind(error) === 'Timeout');
  assert.deepEqual(started, [
    'mount -n -i -t tmpfs -o size=1024,mode=700 -- tmpfs /x',
    'mount -n -i -t tmpfs -- tmpfs /other',
  ]);
  exit();
  await assert.rejects(mounts.mountTmpfs('/other', {}), (error) => errorKind(error) === 'Timeout');
});

test('a kernel that rejects noswap gets a tmpfs without it, and is not tried again', async () => {
  const started: string[] = [];
  const run: Run = async (_program, args) => {
    started.push(args.includes('noswap') ? 'noswap' : 'plain');
    return args.includes('noswap')
      ? { exitCode: 32, stdout: '', stderr: 'mount: /x: wrong fs type, bad option, bad superblock on tmpfs' }
      : { exitCode: 0, stdout: '', stderr: '' };
  };
  const mounts = new LinuxMounts({ run });
  const supported = await mounts.supportsTmpfsNoswap();
  await mounts.mountTmpfs('/x', { noswap: true });
  await mounts.mountTmpfs('/y', { noswap: true });
  assert.deepEqual(
    [started, await mounts.supportsTmpfsNoswap()],
    [supported ? ['noswap', 'plain', 'plain'] : ['plain', 'plain'], false],
  );
});

test('messages of mount become a kind', async () => {
  const kinds: string[] = [];
  for (const stderr of [
    'umount: /x: target is busy.',
    'mount: /x: mount point does not exist.',
    'mount: /x: cannot allocate memory',
    'mount: /x: must be superuser to use mount.',
  ]) {
    const mounts = new LinuxMounts({ run: async () => ({ exitCode: 32, stdout: '', stderr }) });
    await mounts.mountTmpfs('/x', {}).catch((error: unknown) => kinds.push(errorKind(error)));
  }
  assert.deepEqual(kinds, ['Conflict', 'NotFound', 'Unavailable', 'Internal']);
});

test('a file system without its mount program names that program', async () => {
  const started: string[] = [];
  const run: Run = async (program, args) => {
    started.push([program, ...args].join(' '));
    return {
      exitCode: 32,
      stdout: '',
      stderr:
        'mount: /x: bad option; for several filesystems (e.g. nfs, cifs) you might need a /sbin/mount.<type> helper program.',
    };
  };
  const mounts = new LinuxMounts({ run });
  await assert.rejects(
    mounts.mount('/x', { fsType: 'nosuchfs', source: 'server:/e', options: ['ro', 'hard'], helper: true }),
    (error) =>
      errorKind(error) === 'NotFound' && (error as Error).message === 'mount.nosuchfs is not installed on this node',
  );
  await assert.rejects(
    mounts.mount('/x', { fsType: 'ext4', source: '/dev/x', options: [] }),
    (error) => errorKind(error) === 'Invalid',
  );
  assert.deepEqual(started, ['mount -n -t nosuchfs -o ro,hard -- server:/e /x', 'mount -n -i -t ext4 -- /dev/x /x']);
});
