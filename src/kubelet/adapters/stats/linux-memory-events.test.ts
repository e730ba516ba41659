import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { linuxMemoryEvents } from './linux-memory-events.ts';

test('reports changes of memory.events of a group, on a copy of the tree of cgroup v2', async () => {
  const root = mkdtempSync(join(tmpdir(), 'kts-memev-'));
  try {
    mkdirSync(join(root, 'kubepods'));
    const file = join(root, 'kubepods', 'memory.events');
    writeFileSync(file, 'low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n');
    const events = linuxMemoryEvents({ version: 2, root });
    let stop: (() => void) | undefined;
    await new Promise<void>((resolve) => {
      stop = events?.watch('/kubepods', resolve);
      appendFileSync(file, 'max 1\n');
    });
    stop?.();
    // A removed group is not an error.
    events?.watch('/missing', () => assert.fail())();
  } finally {
    rmSync(root, { recursive: true });
  }
});

test('cgroup v1 has no such file', () => {
  assert.equal(linuxMemoryEvents({ version: 1, hierarchies: [] }), undefined);
});
