import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { MountInfo } from '../../../base/mount-info.ts';
import { walkLocal } from './linux-remote-mounts.ts';

const mount = (path: string, fsType: string): MountInfo => ({
  id: 1,
  device: '0:9',
  path,
  fsType,
  source: 'x',
  shared: false,
  superOptions: [],
});

test('a path resolves to the same place with and without unrelated remote mounts', async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'kubelet-walk-')));
  try {
    mkdirSync(join(folder, 'a/b'), { recursive: true });
    writeFileSync(join(folder, 'a/b/f'), '');
    symlinkSync('a/b', join(folder, 'way'));
    symlinkSync('f', join(folder, 'a/b/link'));
    symlinkSync('/nowhere/at/all', join(folder, 'dangling'));
    symlinkSync('round', join(folder, 'round'));
    const local = [mount('/', 'ext4'), mount('/proc/sys/fs/binfmt_misc', 'autofs')];
    const withRemote = [...local, mount('/far/away', 'nfs4')];
    for (const name of [
      '',
      'a',
      'a/b/f',
      'a/b/f/',
      'a/../a//b/./f',
      'way',
      'way/f',
      'way/link',
      'way/none',
      'none/none',
      'a/b/f/under',
      'dangling',
      'dangling/x',
      'round',
      'round/x',
    ]) {
      for (const followLast of [true, false]) {
        const path = `${folder}/${name}`;
        const slowly = await walkLocal(path, { followLast, mounts: withRemote });
        assert.deepEqual(
          [name, followLast, await walkLocal(path, { followLast, mounts: local })],
          [name, followLast, slowly],
        );
        assert.equal(slowly.remote, undefined);
      }
    }
    assert.deepEqual(await walkLocal('/', { followLast: false, mounts: local }), { real: '/', remote: undefined });
    assert.deepEqual(
      await walkLocal(join(folder, 'way/f'), {
        followLast: true,
        mounts: [...local, mount(join(folder, 'a/b'), 'fuse')],
      }),
      { real: join(folder, 'a/b/f'), remote: join(folder, 'a/b') },
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
