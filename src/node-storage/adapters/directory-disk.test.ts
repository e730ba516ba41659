import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { silentLogger } from '../../base/log.ts';
import { runProgram } from '../../base/run-program.ts';
import type { ProgramResult } from '../../base/run-program.ts';
import type { VolumeDisk } from '../provisioner/volume-disk.ts';
import { openDirectoryDisk } from './directory-disk.ts';
import { createProjectQuota, findQuotaMount, projectOf, quotaCommands } from './project-quota.ts';

const NAME = 'pvc-3a1d3c52-0000-4000-8000-00000000000a';
const run = (program: string, args: readonly string[]): Promise<ProgramResult> =>
  runProgram(program, args, { env: { PATH: '/usr/bin:/bin' }, timeoutMs: 10_000, outputLimitBytes: 4096 });

async function onDisk(use: (disk: VolumeDisk, root: string, folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'kts-disk-'));
  try {
    const root = join(folder, 'root');
    const quota = { limit: async () => false };
    await use(await openDirectoryDisk({ root, quota, run, log: silentLogger }), root, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe('volumes as directories', () => {
  it('are writable for every user of a pod, behind a directory that only root enters', () =>
    onDisk(async (disk, root) => {
      await disk.create(NAME);
      await disk.create(NAME);
      assert.equal(statSync(root).mode & 0o777, 0o700);
      assert.equal(statSync(join(root, NAME)).mode & 0o777, 0o777);
      assert.deepEqual(await disk.list(), [NAME]);
    }));

  it('are removed with everything in them, and nothing that their links lead to', () =>
    onDisk(async (disk, root, folder) => {
      const outside = join(folder, 'outside');
      mkdirSync(outside);
      writeFileSync(join(outside, 'kept'), '');
      await disk.create(NAME);
      mkdirSync(join(root, NAME, 'deep', 'er'), { recursive: true });
      symlinkSync(outside, join(root, NAME, 'deep', 'link'));
      await disk.remove(NAME);
      await disk.remove(NAME);
      assert.deepEqual(readdirSync(root), []);
      assert.ok(existsSync(join(outside, 'kept')));
    }));

  it('that are replaced by a link: only the link is removed', () =>
    onDisk(async (disk, root, folder) => {
      const outside = join(folder, 'outside');
      mkdirSync(outside);
      symlinkSync(outside, join(root, NAME));
      await disk.remove(NAME);
      assert.ok(existsSync(outside));
      assert.deepEqual(readdirSync(root), []);
    }));

  it('refuse names that are not names of volumes', () =>
    onDisk(async (disk) => {
      for (const name of ['..', '', '.', `${NAME}/..`, '/etc', 'lost+found']) {
        await assert.rejects(disk.create(name), /is not the name of a volume/);
        await assert.rejects(disk.remove(name), /is not the name of a volume/);
        assert.equal(disk.pathOf(name), '');
      }
    }));

  it('without a volume are removed only when they are empty', () =>
    onDisk(async (disk, root) => {
      await disk.create(NAME);
      writeFileSync(join(root, NAME, 'data'), '');
      assert.equal(await disk.removeEmpty(NAME), false);
      rmSync(join(root, NAME, 'data'));
      assert.equal(await disk.removeEmpty(NAME), true);
      assert.equal(await disk.removeEmpty(NAME), true);
      assert.deepEqual(await disk.list(), []);
    }));

  it('whose removal was interrupted are removed at the next start', () =>
    onDisk(async (_, root) => {
      mkdirSync(join(root, `removed-${NAME}`, 'rest'), { recursive: true });
      await openDirectoryDisk({ root, quota: { limit: async () => false }, run, log: silentLogger });
      assert.deepEqual(readdirSync(root), []);
    }));
});

describe('project quotas', () => {
  const mounts = [
    '1 0 8:1 / / rw shared:1 - ext4 /dev/a rw',
    '2 1 8:2 / /data rw,noatime shared:2 - ext4 /dev/b rw,prjquota',
    '3 2 8:3 / /data/with\\040space rw - xfs /dev/c rw,prjquota',
    '4 1 8:4 / /plain rw - xfs /dev/d rw,noquota',
    '',
  ].join('\n');

  it('are found by the mount that holds the directory', () => {
    assert.deepEqual(findQuotaMount(mounts, '/data/x'), { path: '/data', type: 'ext4' });
    assert.deepEqual(findQuotaMount(mounts, '/data/with space/x'), { path: '/data/with space', type: 'xfs' });
    for (const path of ['/x', '/plain/x', '/database']) assert.equal(findQuotaMount(mounts, path), undefined, path);
  });

  it('limit blocks of 1 KiB, rounded up, of the project of the directory', () => {
    const path = `/data/${NAME}`;
    const project = String(projectOf(path));
    assert.deepEqual(quotaCommands({ path: '/data', type: 'ext4' }, path, 1025), [
      ['chattr', '-p', project, '+P', path],
      ['setquota', '-P', project, '0', '2', '0', '0', '/data'],
    ]);
    assert.deepEqual(quotaCommands({ path: '/data', type: 'xfs' }, path, 1024), [
      ['xfs_quota', '-x', '-c', `project -s -p ${path} ${project}`, '/data'],
      ['xfs_quota', '-x', '-c', `limit -p bhard=1k ${project}`, '/data'],
    ]);
    assert.ok(projectOf(path) >= 2 ** 30 && projectOf(path) < 2 ** 31);
  });

  it('that cannot be set leave the volume without a limit, and are reported', async () => {
    const said: string[] = [];
    const log = { ...silentLogger, warn: (message: string) => void said.push(message) };
    const failing = async (): Promise<ProgramResult> => ({ exitCode: 1, stdout: '', stderr: 'no quota' });
    const quota = createProjectQuota({ run: failing, log, readMounts: async () => mounts });
    assert.equal(await quota.limit('/data/x', 1), false);
    assert.equal(said.length, 1);
    assert.equal(await quota.limit('/x', 1), false);
    assert.equal(said.length, 1);
  });
});
