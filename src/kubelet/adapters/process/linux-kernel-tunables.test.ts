import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { isKind } from '../../../base/errors.ts';
import { linuxKernelTunables } from './linux-kernel-tunables.ts';

test('a setting of the kernel is read and written, and never created', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kts-tunables-'));
  try {
    mkdirSync(join(folder, 'vm'));
    writeFileSync(join(folder, 'vm/overcommit_memory'), '0\n');
    const tunables = linuxKernelTunables(folder);
    assert.equal(await tunables.read('vm/overcommit_memory'), 0);
    await tunables.write('vm/overcommit_memory', 1);
    assert.equal(readFileSync(join(folder, 'vm/overcommit_memory'), 'utf8').trim(), '1');
    await assert.rejects(tunables.read('vm/none'), (error) => isKind(error, 'NotFound'));
    await assert.rejects(tunables.write('vm/none', 1), (error) => isKind(error, 'NotFound'));
    writeFileSync(join(folder, 'vm/odd'), 'a b');
    await assert.rejects(tunables.read('vm/odd'), /not a number/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('this kernel has all settings that the agent sets', async () => {
  const tunables = linuxKernelTunables();
  for (const name of ['vm/overcommit_memory', 'vm/panic_on_oom', 'kernel/panic', 'kernel/panic_on_oops'])
    assert.ok((await tunables.read(name)) >= 0, name);
});
