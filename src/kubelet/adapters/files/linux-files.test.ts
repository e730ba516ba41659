import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { renameSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm, rename, writeFile, mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { hostFilesContract } from '../../ports/testing/host-files-contract.ts';
import { errorKind } from '../../../base/errors.ts';
import { openDescriptors } from '../../../base/testing/open-descriptors.ts';
import { fromErrno } from '../linux-errors.ts';
import { LinuxFiles } from './linux-files.ts';

const files = new LinuxFiles();
/**
 * Waits for events. inotify delivers them within milliseconds, or later on a loaded machine. There is no other way to
 * await the absence of events.
 */
async function settle(seen?: () => boolean): Promise<void> {
  const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
  if (seen === undefined) return pause(30);
  for (let waited = 0; !seen() && waited < 3000; waited += 3) await pause(3);
}

async function inTemporaryFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'kubelet-files-'));
  try {
    await body(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

hostFilesContract('linux', async () => {
  const root = await mkdtemp(path.join(tmpdir(), 'kubelet-files-'));
  return { files, root, settle, end: () => rm(root, { recursive: true, force: true }) };
});

test('errno becomes a kind and a readable text, once', () => {
  const kinds = ['ENOSPC', 'EROFS', 'EIO', 'ESTALE', 'ENOENT', 'EBUSY', 'EACCES', 'EWHATEVER'].map((code) => {
    const error = fromErrno(Object.assign(new Error(code), { code }), 'write', '/a');
    return `${code} ${error.kind} ${error.message}`;
  });
  assert.deepEqual(kinds, [
    'ENOSPC Unavailable write /a: no space left on device',
    'EROFS Unavailable write /a: read-only file system',
    'EIO Unavailable write /a: input/output error',
    'ESTALE Unavailable write /a: stale file handle',
    'ENOENT NotFound write /a: no such file or directory',
    'EBUSY Conflict write /a: device or resource busy',
    'EACCES Internal write /a: permission denied',
    'EWHATEVER Internal write /a: EWHATEVER',
  ]);
});

test('a named pipe without a writer is read as empty and blocks no thread', async () => {
  await inTemporaryFolder(async (folder) => {
    execFileSync('mkfifo', [path.join(folder, 'pipe')]);
    assert.equal(await files.readText(path.join(folder, 'pipe')), '');
    assert.equal((await files.lstat(path.join(folder, 'pipe')))?.type, 'fifo');
  });
});

test('files of /proc, which report no size, are read completely', async () => {
  assert.ok((await files.readText('/proc/self/mountinfo')).length > 0);
});

test('a write and rename within one clock tick is still recognised as moved into place', async () => {
  await inTemporaryFolder(async (folder) => {
    await mkdir(path.join(folder, 'in'));
    const seen: string[] = [];
    const stop = files.watch(path.join(folder, 'in'), {
      onChange: (name, settled) => seen.push(`${name} ${settled}`),
      onLost: () => undefined,
    });
    await settle();
    for (let round = 0; round < 30; round++) {
      seen.length = 0;
      const [temporary, target] = [path.join(folder, 'in', '.new'), path.join(folder, 'in', 'pod.yaml')];
      await writeFile(temporary, `round ${round}`);
      await rename(temporary, target);
      await settle(() => seen.includes('pod.yaml true'));
      assert.ok(seen.includes('pod.yaml true'), `round ${round}: ${seen.join(', ')}`);
    }
    stop();
  });
});

test('a file from another folder is complete at once, one that is written under its name is not', async () => {
  await inTemporaryFolder(async (folder) => {
    await mkdir(path.join(folder, 'in'));
    const seen = new Map<string, boolean[]>();
    const stop = files.watch(path.join(folder, 'in'), {
      onChange: (name = '', settled = false) => seen.set(name, [...(seen.get(name) ?? []), settled]),
      onLost: () => undefined,
    });
    await settle();
    for (let round = 0; round < 30; round++) {
      const [moved, written] = [`moved-${round}`, `written-${round}`];
      writeFileSync(path.join(folder, moved), 'kind: Pod');
      renameSync(path.join(folder, moved), path.join(folder, 'in', moved));
      await (round % 2 === 0 ? undefined : writeFile(path.join(folder, 'in', written), 'kind: Pod'));
      if (round % 2 === 0) writeFileSync(path.join(folder, 'in', written), 'kind: Pod');
      await settle(() => seen.has(moved) && (seen.get(written)?.length ?? 0) > 1);
    }
    stop();
    for (const [name, settled] of seen)
      assert.ok(
        settled.every((each) => each === name.startsWith('moved')),
        `${name}: ${settled.join()}`,
      );
    assert.equal(seen.size, 60);
  });
});

test('a tree of many directories leaves no descriptor behind', async () => {
  await inTemporaryFolder(async (folder) => {
    for (let index = 0; index < 50; index++)
      await files.makeDirectory(path.join(folder, 't', `${index % 5}`, `${index}`, 'deep'), 0o755);
    await files.removeTree(path.join(folder, 't'));
    assert.deepEqual([await files.list(folder), openDescriptors(folder)], [[], []]);
  });
});

test('a new tree leaves no descriptor behind, whether it was made or refused', async () => {
  await inTemporaryFolder(async (folder) => {
    const file = { content: new Uint8Array(1), mode: 0o644 };
    await files.makeTree(folder, 'good', new Map([['a/b/c', file]]));
    assert.deepEqual(openDescriptors(folder), []);
    const clash = new Map([
      ['a', file],
      ['a/b', file],
    ]);
    await assert.rejects(files.makeTree(folder, 'bad', clash), (error) => errorKind(error) === 'AlreadyExists');
    assert.deepEqual(openDescriptors(folder), []);
  });
});

test('removal never enters a mount point', async () => {
  await assert.rejects(files.removeTree('/proc'), (error) => errorKind(error) === 'Unavailable');
});
