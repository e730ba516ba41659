import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { openDescriptors } from '../../../base/testing/open-descriptors.ts';
import type { FdOps } from './linux-fd-ops.ts';
import { blockingFdOps, pooledFdOps } from './linux-fd-ops.ts';
import { LinuxFiles } from './linux-files.ts';
import { giveTreeToGroup } from './linux-group-ownership.ts';
import { removeTree } from './linux-remove-tree.ts';

const files = new LinuxFiles();
const bothOps: readonly (readonly [string, FdOps])[] = [
  ['pooled', pooledFdOps],
  ['blocking', blockingFdOps],
];

async function inTemporaryFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'kubelet-trees-'));
  try {
    await body(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Creates nested directories as a pod can: each level from within the previous one, so that no path is too long. */
function makeDeep(folder: string, levels: number): void {
  execFileSync('sh', ['-c', `i=0; while [ $i -lt ${levels} ]; do mkdir d && cd -P d || exit 1; i=$((i+1)); done`], {
    cwd: folder,
    stdio: 'ignore',
  });
}

/** Runs at full speed during the test: the directory becomes a link to the host's, and back. */
function swapping(at: string, outside: string): ChildProcess {
  const script = `
    const fs = require('node:fs');
    const [at, outside] = process.argv.slice(1);
    fs.symlinkSync(outside, at + '.link');
    for (;;) {
      try { fs.renameSync(at, at + '.dir'); fs.renameSync(at + '.link', at); fs.renameSync(at, at + '.link'); fs.renameSync(at + '.dir', at); }
      catch { try { fs.mkdirSync(at); fs.writeFileSync(at + '/f', ''); } catch {} try { fs.symlinkSync(outside, at + '.link'); } catch {} }
    }`;
  return spawn(process.execPath, ['-e', script, at, outside], { stdio: 'ignore' });
}

for (const [name, ops] of bothOps) {
  test(`a tree deeper than any limit of open files is removed and given to a group, two directories at a time (${name})`, async () => {
    await inTemporaryFolder(async (folder) => {
      makeDeep(folder, 400);
      let most = 0;
      const counting: FdOps = {
        ...ops,
        open: (at, flags) => ((most = Math.max(most, openDescriptors(folder).length)), ops.open(at, flags)),
      };
      assert.deepEqual(await giveTreeToGroup(counting, `${folder}/d`, { gid: 99, readOnly: false }), {
        entries: 400,
        refused: 0,
      });
      assert.deepEqual([lstatSync(`${folder}/d`).gid, lstatSync(`${folder}/${'d/'.repeat(300)}`).gid], [99, 99]);
      assert.equal(await removeTree(counting, `${folder}/d`), 'done');
      assert.deepEqual([readdirSync(folder), openDescriptors(folder)], [[], []]);
      assert.ok(most <= 8, `${most} descriptors`);
    });
  });

  test(`work beyond the budget is left to a child, and finished work is kept (${name})`, async () => {
    await inTemporaryFolder(async (folder) => {
      mkdirSync(`${folder}/t`);
      for (let index = 0; index < 1000; index++) writeFileSync(`${folder}/t/${index}`, '');
      assert.equal(await giveTreeToGroup(ops, `${folder}/t`, { gid: 99, readOnly: false, budget: 600 }), 'large');
      assert.equal(lstatSync(`${folder}/t`).gid, 0, 'the root comes last: it says that all is done');
      assert.equal(await removeTree(ops, `${folder}/t`, { budget: 600 }), 'large');
      assert.equal(readdirSync(`${folder}/t`).length, 400);
      assert.equal(await removeTree(ops, `${folder}/t`, { budget: 600 }), 'done');
    });
  });
}

test('a large tree is given to a group and removed by a child, which reports its progress', async () => {
  await inTemporaryFolder(async (folder) => {
    for (let directory = 0; directory < 10; directory++) {
      mkdirSync(`${folder}/t/${directory}`, { recursive: true });
      for (let index = 0; index < 400; index++) writeFileSync(`${folder}/t/${directory}/${index}`, '', { mode: 0o600 });
    }
    assert.deepEqual(await files.giveToGroup(`${folder}/t`, { gid: 99, readOnly: false }), {
      entries: 4011,
      refused: 0,
    });
    const seen = [`${folder}/t`, `${folder}/t/9`, `${folder}/t/9/399`].map((at) => [
      statSync(at).gid,
      (statSync(at).mode & 0o7777).toString(8),
    ]);
    assert.deepEqual(seen, [
      [99, '2775'],
      [99, '2775'],
      [99, '660'],
    ]);
    await files.removeTree(`${folder}/t`);
    assert.deepEqual(readdirSync(folder), []);
  });
});

test('the host is unchanged while a folder of the tree is swapped for a link to it, again and again', async () => {
  await inTemporaryFolder(async (folder) => {
    mkdirSync(`${folder}/host/sub`, { recursive: true });
    writeFileSync(`${folder}/host/f`, 'precious', { mode: 0o600 });
    writeFileSync(`${folder}/host/sub/g`, 'precious', { mode: 0o600 });
    lchownSync(`${folder}/host/f`, 0, 0);
    chmodSync(`${folder}/host`, 0o700);
    const host = (): unknown[] =>
      [`${folder}/host`, `${folder}/host/f`, `${folder}/host/sub`, `${folder}/host/sub/g`].map((at) => [
        lstatSync(at).gid,
        lstatSync(at).mode,
        lstatSync(at).ino,
      ]);
    const before = host();
    mkdirSync(`${folder}/v/a/in`, { recursive: true });
    writeFileSync(`${folder}/v/a/in/f`, '');
    const attacker = swapping(`${folder}/v/a/in`, `${folder}/host`);
    try {
      for (let round = 0; round < 150; round++) {
        await giveTreeToGroup(pooledFdOps, `${folder}/v`, { gid: 1000 + round, readOnly: false });
        // What the attacker moves may be in the way. That is an error, and is retried.
        await removeTree(pooledFdOps, `${folder}/v/a`).catch((error: unknown) =>
          assert.match(String(error), /removeTree/),
        );
        try {
          mkdirSync(`${folder}/v/a/in`, { recursive: true });
        } catch (error) {
          // The attacker moved the directory away in between, and creates it again.
          assert.match(String(error), /ENOENT|EEXIST/);
        }
      }
    } finally {
      attacker.kill('SIGKILL');
    }
    assert.deepEqual(host(), before);
  });
});

test('names that are not valid text are handled like others', async () => {
  await inTemporaryFolder(async (folder) => {
    mkdirSync(`${folder}/t`);
    const odd = Buffer.concat([Buffer.from(`${folder}/t/`), Buffer.from([0xff, 0x2d, 0xc3])]);
    mkdirSync(odd);
    writeFileSync(Buffer.concat([odd, Buffer.from('/'), Buffer.from([0x80])]), '', { mode: 0o600 });
    symlinkSync('/etc', Buffer.concat([odd, Buffer.from('/'), Buffer.from([0x81])]));
    assert.deepEqual(await files.giveToGroup(`${folder}/t`, { gid: 99, readOnly: false }), { entries: 4, refused: 0 });
    assert.equal(lstatSync(Buffer.concat([odd, Buffer.from('/'), Buffer.from([0x80])])).gid, 99);
    await files.removeTree(`${folder}/t`);
    assert.deepEqual(readdirSync(folder), []);
  });
});

test('of a link only its own group changes, not that of its target; removing it removes the link', async () => {
  await inTemporaryFolder(async (folder) => {
    mkdirSync(`${folder}/host`);
    mkdirSync(`${folder}/v`);
    symlinkSync(`${folder}/host`, `${folder}/v/link`);
    symlinkSync(`${folder}/v`, `${folder}/root`);
    await files.giveToGroup(`${folder}/v`, { gid: 99, readOnly: false });
    assert.deepEqual([lstatSync(`${folder}/v/link`).gid, lstatSync(`${folder}/host`).gid], [99, 0]);
    await files.removeTree(`${folder}/root`);
    assert.deepEqual(readdirSync(folder).sort(), ['host', 'v']);
    renameSync(`${folder}/v`, `${folder}/w`);
    await files.removeTree(`${folder}/w`);
    assert.deepEqual(readdirSync(folder), ['host']);
  });
});

test('an empty folder is removed at once without reading anything; files and missing paths are handled as usual', async () => {
  await inTemporaryFolder(async (folder) => {
    mkdirSync(`${folder}/empty`);
    writeFileSync(`${folder}/file`, '');
    const opened: unknown[] = [];
    const ops: FdOps = { ...pooledFdOps, open: (path, flags) => (opened.push(path), pooledFdOps.open(path, flags)) };
    for (const name of ['empty', 'missing', 'missing/under'])
      assert.equal(await removeTree(ops, `${folder}/${name}`), 'done');
    assert.deepEqual(opened, []);
    assert.equal(await removeTree(ops, `${folder}/file`), 'done');
    assert.equal(await removeTree(ops, `${folder}/missing`), 'done');
    assert.deepEqual(readdirSync(folder), []);
  });
});
