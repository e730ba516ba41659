import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { errorKind, KubeletError } from '../../../base/errors.ts';
import { GuardedFiles } from './linux-files-guarded.ts';
import { LinuxFiles } from './linux-files.ts';
import { runKillable } from '../process/linux-killable.ts';
import type { MountInfo } from '../../../base/mount-info.ts';

const nfsAt =
  (at: string): (() => Promise<MountInfo[]>) =>
  async () => [
    { id: 1, device: '8:1', path: '/', fsType: 'ext4', source: '/dev/vda', shared: false, superOptions: [] },
    { id: 2, device: '0:9', path: at, fsType: 'nfs4', source: 'server:/x', shared: false, superOptions: [] },
  ];

async function inFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'kubelet-guard-'));
  try {
    await mkdir(path.join(folder, 'nfs/d'), { recursive: true });
    await writeFile(path.join(folder, 'nfs/f'), 'abc');
    await symlink('nfs', path.join(folder, 'way'));
    await symlink('f', path.join(folder, 'nfs/link'));
    await body(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

test('remote file systems are accessed by a child, with the same results', async () => {
  await inFolder(async (folder) => {
    const asked: string[] = [];
    const run: typeof runKillable = (program, args, options) => {
      asked.push(program);
      return runKillable(program, args, options);
    };
    const guarded = new GuardedFiles({ readMounts: nfsAt(path.join(folder, 'nfs')), run });
    const plain = new LinuxFiles();
    for (const name of ['nfs', 'nfs/f', 'nfs/link', 'nfs/none', 'way/f', 'way/d']) {
      const target = path.join(folder, name);
      const whole = (info: Awaited<ReturnType<LinuxFiles['stat']>>) =>
        info && { ...info, modifiedMs: Math.floor(info.modifiedMs / 1000) };
      assert.deepEqual(whole(await guarded.stat(target)), whole(await plain.stat(target)), name);
      assert.deepEqual(whole(await guarded.lstat(target)), whole(await plain.lstat(target)), name);
    }
    assert.deepEqual(await guarded.list(path.join(folder, 'way')), ['d', 'f', 'link']);
    assert.deepEqual(await guarded.list(path.join(folder, 'nfs/none')), []);
    assert.equal(asked.length, 14);
    assert.equal((await guarded.lstat(path.join(folder, 'way')))?.type, 'symlink');
    assert.equal(asked.length, 14);
  });
});

test('a mount that did not respond is not accessed again until its child is gone, others are', async () => {
  await inFolder(async (folder) => {
    const exits: (() => void)[] = [];
    let asked = 0;
    const run: typeof runKillable = async (_program, _args, options) => {
      asked++;
      if (options.onExit !== undefined) exits.push(options.onExit);
      throw new KubeletError('Timeout', 'no answer');
    };
    const guarded = new GuardedFiles({ readMounts: nfsAt(path.join(folder, 'nfs')), run });
    const target = path.join(folder, 'nfs/f');
    await assert.rejects(guarded.stat(target), (error) => errorKind(error) === 'Timeout');
    await assert.rejects(
      guarded.stat(target),
      (error) => errorKind(error) === 'Unavailable' && /nfs does not respond/.test((error as Error).message),
    );
    assert.deepEqual([asked, guarded.stuckChildren, (await guarded.stat(folder))?.type], [1, 1, 'directory']);
    for (const exit of exits) exit();
    assert.equal(guarded.stuckChildren, 0);
    await assert.rejects(guarded.stat(target), (error) => errorKind(error) === 'Timeout');
  });
});
