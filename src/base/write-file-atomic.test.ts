import assert from 'node:assert/strict';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { unfinishedName, writeFileAtomic } from './write-file-atomic.ts';

describe('a file that is written in one step', () => {
  let folder = '';
  beforeEach(() => void (folder = mkdtempSync(path.join(tmpdir(), 'write-atomic-'))));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  for (const survivesPowerCut of [true, false])
    it(`has the new content and mode, and leaves nothing beside it (${survivesPowerCut ? 'on disk' : 'soon'})`, async () => {
      const file = path.join(folder, 'state');
      const before = process.umask(0o077);
      try {
        await writeFileAtomic(file, 'old', 0o600, { survivesPowerCut });
        await writeFileAtomic(file, Buffer.from('new'), 0o664, { survivesPowerCut });
      } finally {
        process.umask(before);
      }
      assert.deepEqual([readFileSync(file, 'utf8'), statSync(file).mode & 0o777], ['new', 0o664]);
      assert.deepEqual(readdirSync(folder), ['state']);
    });

  /**
   * The paths that are synced while `work` runs: a file, with the content of the named file at that time, or a folder.
   */
  async function syncsDuring(work: () => Promise<void>): Promise<string[]> {
    const probe = await open(folder);
    const handles = Object.getPrototypeOf(probe) as FileHandle;
    await probe.close();
    const { sync } = handles;
    const syncs: string[] = [];
    handles.sync = async function (this: FileHandle): Promise<void> {
      const isFolder = (await this.stat()).isDirectory();
      syncs.push(`${isFolder ? 'folder' : 'file'}, readers see ${readFileSync(path.join(folder, 'state'), 'utf8')}`);
      await sync.call(this);
    };
    try {
      await work();
    } finally {
      handles.sync = sync;
    }
    return syncs;
  }

  it('is on disk before readers see it, and its name when the write is done, unless a power cut may lose it', async () => {
    const file = path.join(folder, 'state');
    writeFileSync(file, 'old');
    assert.deepEqual(await syncsDuring(() => writeFileAtomic(file, 'new', 0o600)), [
      'file, readers see old',
      'folder, readers see new',
    ]);
    assert.deepEqual(await syncsDuring(() => writeFileAtomic(file, 'x', 0o600, { survivesPowerCut: false })), []);
  });

  it('leaves no file open, whether it succeeds or not', async () => {
    const openHere = (): string[] =>
      readdirSync('/proc/self/fd').filter((fd) => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`).startsWith(folder);
        } catch {
          return false;
        }
      });
    mkdirSync(path.join(folder, 'taken'));
    await writeFileAtomic(path.join(folder, 'state'), 'x', 0o600);
    await assert.rejects(writeFileAtomic(path.join(folder, 'taken'), 'x', 0o600), { code: 'EISDIR' });
    assert.deepEqual(openHere(), []);
  });

  it('replaces a link and not what the link points to', async () => {
    const [target, link] = [path.join(folder, 'target'), path.join(folder, 'link')];
    writeFileSync(target, 'target');
    symlinkSync(target, link);
    await writeFileAtomic(link, 'own', 0o600);
    assert.deepEqual([readFileSync(target, 'utf8'), readFileSync(link, 'utf8')], ['target', 'own']);
  });

  it('keeps the old content where it cannot be replaced, and removes the unfinished file', async () => {
    const taken = path.join(folder, 'taken');
    mkdirSync(taken);
    await assert.rejects(writeFileAtomic(taken, 'x', 0o600), { code: 'EISDIR' });
    await assert.rejects(writeFileAtomic(path.join(folder, 'none', 'x'), 'x', 0o600), { code: 'ENOENT' });
    assert.deepEqual(readdirSync(folder), ['taken']);
  });

  it('may have a name of any length', async () => {
    const name = 'n'.repeat(255);
    await writeFileAtomic(path.join(folder, name), 'x', 0o600);
    assert.deepEqual(readdirSync(folder), [name]);
  });

  it('has a name of its own while it is unfinished', () => {
    assert.deepEqual(
      [
        '.state.0123456789ab.tmp',
        'state',
        '.state.tmp',
        'state.0123456789ab.tmp',
        'a.state.0123456789ab.tmp',
        '.state.0123456789ab.tmp2',
      ].map((name) => unfinishedName.test(name)),
      [true, false, false, false, false, false],
    );
  });
});
