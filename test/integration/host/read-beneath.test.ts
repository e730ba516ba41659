// Reading a file of a pod's volume, with traps that only root can create: devices, and mounted file systems.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { errorMessage } from '../../../src/base/errors.ts';
import { LinuxFiles } from '../../../src/kubelet/adapters/files/linux-files.ts';

const root = mkdtempSync(join(tmpdir(), 'kts-beneath-'));
after(() => {
  execFileSync('umount', [join(root, 'mounted')]);
  rmSync(root, { recursive: true, force: true });
});
const read = (path: string): Promise<string> =>
  new LinuxFiles().readBeneath(root, path, 1024).then((bytes) => Buffer.from(bytes).toString(), errorMessage);

test('neither a device nor what is mounted inside is read', async () => {
  writeFileSync(join(root, 'env'), 'inside');
  execFileSync('mknod', [join(root, 'device'), 'c', '1', '5']);
  mkdirSync(join(root, 'mounted'));
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', join(root, 'mounted')]);
  writeFileSync(join(root, 'mounted', 'env'), 'mounted');
  const answers = await Promise.all(['env', 'device', 'mounted/env'].map(read));
  assert.equal(answers[0], 'inside');
  assert.match(answers[1] ?? '', /device: is not a regular file/);
  assert.match(answers[2] ?? '', /mounted\/env: is on another mount/);
});
