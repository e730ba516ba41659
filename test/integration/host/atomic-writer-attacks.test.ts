// An attacker who can write to a ConfigMap's or Secret's volume, against its writer and its removal, on the real kernel
// (CVE-2017-1002102).
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import { errorKind } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { LinuxFiles } from '../../../src/kubelet/adapters/files/linux-files.ts';
import { AtomicWriter } from '../../../src/kubelet/features/volumes/objects/atomic-writer.ts';
import type { Payload } from '../../../src/kubelet/features/volumes/objects/payload.ts';

const UPDATES = 80;

/**
 * Replaces everything in the volume by a link to the host or a folder, or removes it, at random and as fast as
 * possible. A folder is filled before it is moved into place, because through a link of the writer's this program
 * itself would write to the host.
 */
const ATTACK = `
  const fs = require('node:fs');
  const [volume, host] = process.argv.slice(1);
  const tried = (action) => { try { action(); } catch {} };
  process.stdout.write('.');
  for (;;) {
    let names = [];
    tried(() => (names = fs.readdirSync(volume)));
    for (const name of [...names, '..data', '..data_tmp', 'file', 'dir']) {
      const at = volume + '/' + name;
      tried(() => fs.renameSync(at, volume + '/stolen'));
      switch (Math.floor(Math.random() * 4)) {
        case 0: tried(() => fs.symlinkSync(host, at)); break;
        case 1: tried(() => fs.symlinkSync('../host', at)); break;
        case 2: tried(() => { const made = fs.mkdtempSync(volume + '/made-'); fs.symlinkSync(host, made + '/dir'); fs.renameSync(made, at); }); break;
        case 3: tried(() => fs.renameSync(volume + '/stolen', at)); break;
      }
      tried(() => fs.rmSync(volume + '/stolen', { recursive: true, force: true }));
    }
  }`;

const files = new LinuxFiles();
let folder: string;
let volume: string;
let host: string;
let attacker: ChildProcess;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kts-writer-'));
  [volume, host] = [join(folder, 'volume'), join(folder, 'host')];
  mkdirSync(join(host, 'dir'), { recursive: true });
  mkdirSync(volume, { mode: 0o777 });
  for (const name of ['file', 'dir/inner', 'shadow']) writeFileSync(join(host, name), 'of the host', { mode: 0o600 });
  attacker = spawn(process.execPath, ['-e', ATTACK, volume, host], { stdio: ['ignore', 'pipe', 'ignore'] });
  await new Promise((resolve) => attacker.stdout?.once('data', resolve));
});

after(() => {
  attacker.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

function describeHost(): string[] {
  return ['.', 'file', 'dir', 'dir/inner', 'shadow'].map((name) => {
    const info = lstatSync(join(host, name));
    return `${name} ${info.ino} ${info.mode.toString(8)} ${info.uid}:${info.gid} ${info.isFile() ? readFileSync(join(host, name), 'utf8') : readdirSync(join(host, name)).join(' ')}`;
  });
}

const payload = (round: number): Payload =>
  new Map(
    ['file', 'dir/inner', `new-${round}`, `dir/new-${round}`].map((name) => [
      name,
      { content: Buffer.from(`round ${round}`), mode: 0o644, uid: 1234 },
    ]),
  );

describe('a volume whose every entry is swapped without end', () => {
  test('is written and given to a group over and over, and the host stays as it is', async () => {
    const writer = new AtomicWriter({ files, clock: systemClock, random: seededRandom(3), log: silentLogger });
    const untouched = describeHost();
    const seen = { written: 0, refused: new Set<string>() };
    for (let round = 0; round < UPDATES; round++) {
      try {
        await writer.write(volume, payload(round), 4000 + round);
        seen.written++;
      } catch (error) {
        seen.refused.add(errorKind(error));
      }
      assert.deepEqual(describeHost(), untouched, `round ${round}`);
    }
    assert.ok(!seen.refused.has('Timeout'), [...seen.refused].join(' '));
  });

  test('is removed, and the host stays as it is', async () => {
    const untouched = describeHost();
    for (let round = 0; round < 50; round++) {
      // Names reappear while they are removed; the error is reported, and the write is retried.
      await files
        .removeTree(volume)
        .catch((error: unknown) =>
          assert.ok(['Conflict', 'Unavailable', 'NotFound'].includes(errorKind(error)), String(error)),
        );
      await files.makeDirectory(volume, 0o777);
      await files
        .makeDirectoryBeneath(volume, 'dir/nested', 0o755)
        .catch((error: unknown) =>
          assert.ok(['Invalid', 'NotFound', 'AlreadyExists'].includes(errorKind(error)), String(error)),
        );
    }
    assert.deepEqual(describeHost(), untouched);
    attacker.kill('SIGKILL');
    await new Promise((resolve) =>
      attacker.exitCode !== null || attacker.signalCode !== null ? resolve(undefined) : attacker.once('exit', resolve),
    );
    await files.removeTree(volume);
    assert.deepEqual([readdirSync(folder), describeHost()], [['host'], untouched]);
  });
});
