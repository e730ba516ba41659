// A pod that swaps parts of its volume while the agent mounts them, on the real kernel (CVE-2017-1002101,
// CVE-2021-25741).
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { errorKind } from '../../../src/base/errors.ts';
import { FileWork } from '../../../src/kubelet/adapters/files/linux-file-work.ts';
import { LinuxMounts } from '../../../src/kubelet/adapters/files/linux-mounts.ts';
import type { BindBeneathResult } from '../../../src/kubelet/ports/mounts.ts';

const PREPARATIONS = 300;

/**
 * As fast as possible: `at` is a directory, then a link to `host`, then a directory again, and missing in between. It
 * reports how often it did so. A directory that the agent creates in a gap is moved away, as a pod could do.
 */
const ATTACK = `
  const fs = require('node:fs');
  const [at, host] = process.argv.slice(1);
  const tried = (action) => { try { action(); } catch {} };
  tried(() => fs.symlinkSync(host, at + '.link'));
  for (let round = 1; ; round++) {
    try {
      fs.renameSync(at, at + '.dir');
      fs.renameSync(at + '.link', at);
      fs.renameSync(at, at + '.link');
      fs.renameSync(at + '.dir', at);
    } catch {
      // The preparation created a directory at this moment, possibly with others in it: the volume's own directory is
      // restored.
      if (fs.existsSync(at + '.dir')) {
        tried(() => fs.rmSync(at, { recursive: true, force: true }));
        tried(() => fs.renameSync(at + '.dir', at));
      }
      tried(() => fs.symlinkSync(host, at + '.link'));
    }
    if (round % 500 === 0) process.stdout.write('.');
  }`;

let folder: string;
let volume: string;
let host: string;
let attacker: ChildProcess;
const mounts = new LinuxMounts();

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kts-race-'));
  [volume, host] = [join(folder, 'volume'), join(folder, 'host')];
  mkdirSync(join(volume, 'dir', 'sub'), { recursive: true });
  mkdirSync(join(host, 'sub'), { recursive: true });
  for (const place of [join(volume, 'dir'), host]) writeFileSync(join(place, 'file'), place);
  attacker = spawn(process.execPath, ['-e', ATTACK, join(volume, 'dir'), host], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await new Promise((resolve) => attacker.stdout?.once('data', resolve));
});

after(async () => {
  attacker.kill('SIGKILL');
  for (const { path } of (await mounts.listBelow(folder)).reverse()) await mounts.unmount(path);
  rmSync(folder, { recursive: true, force: true });
});

/** The inodes of everything that belongs to the host and not to a pod. */
function foreignInodes(): Set<number> {
  return new Set(['.', 'sub', 'file'].map((name) => lstatSync(join(host, name)).ino));
}

/** Open files and directories, without connections to a child process, which may exist for a while. */
function openFiles(): number {
  const names = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return ''; // That of the listing.
    }
  });
  return names.filter((name) => name.startsWith('/')).length;
}

describe('a volume whose directories become links and directories again, without end', () => {
  for (const [index, subPath] of ['dir', 'dir/sub', 'dir/file', 'dir/sub/new'].entries()) {
    test(`never shows anything of the host as ${subPath}`, async () => {
      const foreign = foreignInodes();
      const seen = { mounted: 0, refused: 0 };
      const before = openFiles();
      // A busy machine may stop the attacker while the directory is a link, for longer than all rounds take.
      for (let round = 0; round < PREPARATIONS / 4 || seen.mounted === 0; round++) {
        const target = join(folder, 'pod', String(index), String(round % 3));
        // Errors are expected: what was checked may be gone in the next moment.
        const result = await mounts.bindBeneath({ root: volume, subPath, target }).catch(() => undefined);
        if (result?.kind !== 'mounted') {
          seen.refused++;
          continue;
        }
        seen.mounted++;
        assert.ok(!foreign.has(statSync(target).ino), `round ${round}: the host is visible`);
        if (round % 2 === 0) await mounts.unmount(target);
      }
      assert.deepEqual(
        [readdirSync(host).sort(), readdirSync(join(host, 'sub'))],
        [['file', 'sub'], []],
        'something was made on the host',
      );
      assert.equal(openFiles(), before, 'descriptors are left open');
    });
  }
});

describe('on file systems that may hang', () => {
  const guarded = new LinuxMounts({ walk: async (path) => ({ real: path, remote: '/nfs' }) });

  const work = new FileWork(1);

  test('a process of its own opens and mounts, with the same answers', async () => {
    const own = join(folder, 'own');
    mkdirSync(join(own, 'dir'), { recursive: true });
    symlinkSync('/etc', join(own, 'out'));
    const bind = (subPath: string): Promise<BindBeneathResult> =>
      guarded.bindBeneath({ root: own, subPath, target: join(folder, 'pod', 'guarded', '0') });
    assert.deepEqual(
      [await bind('dir/new'), await bind('dir/new')],
      [
        { kind: 'mounted', reused: false },
        { kind: 'mounted', reused: true },
      ],
    );
    assert.equal(statSync(join(folder, 'pod', 'guarded', '0')).ino, statSync(join(own, 'dir', 'new')).ino);
    assert.deepEqual(await bind('out'), { kind: 'refused', step: 'open', why: 'it leads out of the volume' });
    await assert.rejects(
      guarded.bindBeneath({ root: join(folder, 'none'), subPath: 'x', target: join(folder, 'pod', 'guarded', '1') }),
      { kind: 'NotFound' },
    );
  });

  test('a worker without progress is abandoned and killed', async () => {
    let exited = (): void => undefined;
    const gone = new Promise<void>((resolve) => (exited = resolve));
    await assert.rejects(
      work.run({ op: 'removeTree', path: join(folder, 'none') }, { silenceMs: 1, onExit: exited }),
      (error) => errorKind(error) === 'Timeout',
    );
    await gone;
  });

  test('a hanging worker frees its place; when all places are taken, other calls wait', async () => {
    await assert.rejects(
      work.run({ op: 'removeTree', path: join(folder, 'none') }, { silenceMs: 1 }),
      (error) => errorKind(error) === 'Timeout',
    );
    const answers = await Promise.all(
      [1, 2, 3].map(() => work.run({ op: 'removeTree', path: join(folder, 'none') }, { silenceMs: 20_000 })),
    );
    assert.deepEqual(answers, [{ op: 'removeTree' }, { op: 'removeTree' }, { op: 'removeTree' }]);
  });
});
