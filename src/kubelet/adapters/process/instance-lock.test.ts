import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { errorKind } from '../../../base/errors.ts';
import { takeInstanceLock } from './instance-lock.ts';

function folder(context: { after(cleanUp: () => void): void }): string {
  const path = mkdtempSync(join(tmpdir(), 'instance-lock-'));
  context.after(() => rmSync(path, { recursive: true }));
  return path;
}

it('has one holder at a time, and the next once it is released', async (context) => {
  const root = folder(context);
  const first = await takeInstanceLock(root);
  await assert.rejects(takeInstanceLock(root), (error) => errorKind(error) === 'AlreadyExists');
  (await takeInstanceLock(folder(context))).release();
  first.release();
  (await takeInstanceLock(root)).release();
});

it('is named by a secret of root, so that no other user can take the name', async (context) => {
  const root = folder(context);
  (await takeInstanceLock(root)).release();
  assert.equal(statSync(join(root, 'agent-state', 'lock-name')).mode & 0o777, 0o600);
});

it('writes nothing once it has its name, so that an agent can restart on a full disk', async (context) => {
  const root = folder(context);
  (await takeInstanceLock(root)).release();
  const state = (): number[] => [
    statSync(join(root, 'agent-state')).mtimeMs,
    statSync(join(root, 'agent-state', 'lock-name')).ino,
  ];
  const before = state();
  (await takeInstanceLock(root)).release();
  assert.deepEqual(state(), before);
});

it('replaces a damaged name, which other directories might share', async (context) => {
  const root = folder(context);
  (await takeInstanceLock(root)).release();
  writeFileSync(join(root, 'agent-state', 'lock-name'), '');
  (await takeInstanceLock(root)).release();
  assert.match(readFileSync(join(root, 'agent-state', 'lock-name'), 'utf8'), /^[0-9a-f]{32}$/);
  assert.deepEqual(readdirSync(join(root, 'agent-state')), ['lock-name']);
});

it('reports an unusable root directory', async (context) => {
  const file = join(folder(context), 'file');
  writeFileSync(file, '');
  await assert.rejects(async () => takeInstanceLock(file), /the root directory .* cannot be used/);
});
