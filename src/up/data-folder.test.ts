import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { ensureManifests } from './agent.ts';
import { checkDataFolder, claimDataFolder, noteMountsBefore, ownMounts, purgeDataFolder } from './data-folder.ts';
import { deriveInstance, endpointFile } from './instance.ts';
import type { Instance } from './instance.ts';

function instanceIn(t: TestContext): Instance {
  const parent = mkdtempSync(join(tmpdir(), 'up-data-'));
  t.after(() => rmSync(parent, { recursive: true, force: true }));
  return deriveInstance(join(parent, 'data'));
}

/** /proc/self/mountinfo with a disk at each of these points. */
const mounted = (...points: string[]): string =>
  points.map((point, index) => `${index + 20} 1 0:${index + 20} / ${point} rw - tmpfs none rw\n`).join('');

describe('the data folder of up', () => {
  it('is made and claimed once; a folder with files of others is refused', (t) => {
    const instance = instanceIn(t);
    checkDataFolder(instance);
    claimDataFolder(instance);
    claimDataFolder(instance);
    writeFileSync(join(instance.dataDir, 'notes.txt'), '');
    checkDataFolder(instance);
    const other = instanceIn(t);
    mkdirSync(other.dataDir);
    writeFileSync(join(other.dataDir, 'notes.txt'), '');
    assert.throws(() => claimDataFolder(other), /is not empty \(notes.txt, ...\) and was not made by up/);
    assert.deepEqual(readdirSync(other.dataDir), ['notes.txt']);
  });

  it('may hold manifests before the first run, or be of a version that made no marker', (t) => {
    for (const [file, text] of [
      ['manifests/a.yaml', ''],
      ['static-pods/a.yaml', ''],
      ['cluster.json', '{}'],
      ['containerd/config.toml', '# Written by kubelet-ts\n'],
    ] as const) {
      const instance = instanceIn(t);
      mkdirSync(join(instance.dataDir, file, '..'), { recursive: true });
      writeFileSync(join(instance.dataDir, file), text);
      claimDataFolder(instance);
    }
    const foreign = instanceIn(t);
    mkdirSync(join(foreign.dataDir, 'containerd'), { recursive: true });
    writeFileSync(join(foreign.dataDir, 'containerd', 'config.toml'), 'version = 2\n');
    assert.throws(() => claimDataFolder(foreign), /was not made by up/);
  });

  it('must not be writable for others, nor any folder above it without the sticky bit', (t) => {
    const instance = instanceIn(t);
    const parent = join(instance.dataDir, '..');
    claimDataFolder(instance);
    chmodSync(parent, 0o777);
    assert.throws(() => checkDataFolder(instance), new RegExp(`chmod go-w ${parent},`));
    chmodSync(parent, 0o1777);
    checkDataFolder(instance);
    chmodSync(instance.dataDir, 0o1777);
    assert.throws(() => checkDataFolder(instance), new RegExp(`chmod go-w ${instance.dataDir},`));
  });

  it('is purged of what up has made; what others put or mounted there stays, and is named', (t) => {
    const instance = instanceIn(t);
    claimDataFolder(instance);
    const disk = join(instance.storageDir, 'disk');
    for (const folder of [instance.kubeletRoot, disk, join(instance.dataDir, 'storage-of-others')])
      mkdirSync(folder, { recursive: true });
    writeFileSync(join(disk, 'data'), 'precious');
    writeFileSync(join(instance.dataDir, 'notes.txt'), '');
    const left = purgeDataFolder(instance, mounted('/', disk));
    assert.deepEqual(
      left.sort(),
      ['notes.txt', 'storage', 'storage-of-others'].map((name) => join(instance.dataDir, name)),
    );
    assert.equal(readFileSync(join(disk, 'data'), 'utf8'), 'precious');
    assert.equal(existsSync(instance.kubeletRoot), false);
  });

  it('goes with the purge when nothing else is in it, unless it is a disk itself', (t) => {
    const instance = instanceIn(t);
    assert.deepEqual(purgeDataFolder(instance), []);
    claimDataFolder(instance);
    assert.deepEqual(purgeDataFolder(instance, mounted(instance.dataDir)), []);
    assert.deepEqual(readdirSync(instance.dataDir), []);
    assert.deepEqual(purgeDataFolder(instance, mounted('/')), []);
    assert.equal(existsSync(instance.dataDir), false);
  });
});

describe('mounts in the data folder', () => {
  it('belong to up but for those that were there before the first run, which are noted once', (t) => {
    const instance = instanceIn(t);
    const [disk, volume] = [join(instance.dataDir, 'storage'), join(instance.kubeletRoot, 'pods', 'a')];
    noteMountsBefore(instance, mounted(disk));
    assert.deepEqual(ownMounts(instance, mounted(disk, volume)), [volume, disk], 'there was no folder to note them in');
    claimDataFolder(instance);
    noteMountsBefore(instance, mounted(instance.dataDir, disk));
    noteMountsBefore(instance, mounted(instance.dataDir, disk, volume));
    assert.deepEqual(ownMounts(instance, mounted(instance.dataDir, disk, volume)), [volume]);
  });

  it('are not noted when a run is under way, whose mounts they would be', (t) => {
    const instance = instanceIn(t);
    claimDataFolder(instance);
    mkdirSync(instance.runDir);
    writeFileSync(endpointFile(instance), '');
    const volume = join(instance.kubeletRoot, 'pods', 'a');
    noteMountsBefore(instance, mounted(volume));
    assert.deepEqual(ownMounts(instance, mounted(volume)), [volume]);
  });
});

describe('the example manifests', () => {
  it('are copied once: what a person has changed or deleted stays so', (t) => {
    const instance = instanceIn(t);
    ensureManifests(instance);
    const [first = '', second = ''] = readdirSync(instance.manifestsDir);
    writeFileSync(join(instance.manifestsDir, first), 'mine');
    rmSync(join(instance.manifestsDir, second), { recursive: true });
    const before = readdirSync(instance.manifestsDir);
    ensureManifests(instance);
    assert.deepEqual(readdirSync(instance.manifestsDir), before);
    assert.equal(readFileSync(join(instance.manifestsDir, first), 'utf8'), 'mine');
  });
});
