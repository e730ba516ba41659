import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { errorKind } from '../../../base/errors.ts';
import { openDescriptors } from '../../../base/testing/open-descriptors.ts';
import { LinuxFiles } from './linux-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'kts-beneath-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const files = new LinuxFiles();
const read = async (root: string, path: string): Promise<string> => {
  try {
    return Buffer.from(await files.readBeneath(root, path, 1024)).toString();
  } catch (error) {
    return errorKind(error);
  }
};

test("a pipe is not opened, nor a link's target on the host, and nothing stays open", async () => {
  const root = join(folder, 'odd');
  mkdirSync(root);
  execFileSync('mkfifo', [join(root, 'pipe')]);
  symlinkSync('/dev/zero', join(root, 'zero'));
  symlinkSync('/proc/self/root/etc/hostname', join(root, 'host'));
  assert.deepEqual(
    [await read(root, 'pipe'), await read(root, 'zero'), await read(root, 'host'), await read(root, 'none/x')],
    ['Invalid', 'NotFound', 'NotFound', 'NotFound'],
  );
  assert.deepEqual(openDescriptors(root, '/dev/zero', '/etc/hostname'), []);
});

test('whatever is swapped during the walk, nothing outside is read', async () => {
  const root = join(folder, 'swapped');
  const outside = join(folder, 'outside');
  for (const path of [root, outside, join(root, 'real')]) mkdirSync(path);
  writeFileSync(join(outside, 'env'), 'of the host');
  writeFileSync(join(root, 'real', 'env'), 'inside');
  writeFileSync(join(root, 'file'), 'inside');
  let running = true;
  const swap = async (): Promise<void> => {
    for (let turn = 0; running; turn++) {
      rmSync(join(root, 'next'), { force: true });
      symlinkSync(turn % 2 === 0 ? outside : 'real', join(root, 'next'));
      renameSync(join(root, 'next'), join(root, 'd'));
      rmSync(join(root, 'next'), { force: true });
      if (turn % 2 === 0) symlinkSync(join(outside, 'env'), join(root, 'next'));
      else writeFileSync(join(root, 'next'), 'inside');
      renameSync(join(root, 'next'), join(root, 'file'));
      await new Promise(setImmediate);
    }
  };
  const swapping = swap();
  const seen = new Set<string>();
  for (let turn = 0; turn < 100; turn++) for (const path of ['d/env', 'file']) seen.add(await read(root, path));
  running = false;
  await swapping;
  assert.ok(seen.has('inside'));
  assert.deepEqual(
    [...seen].filter((result) => !['inside', 'NotFound', 'Invalid'].includes(result)),
    [],
  );
});
