import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

test('what is loaded late is there in the bundle, with the names that the code asks for', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kts-build-'));
  try {
    execFileSync(process.execPath, [join(import.meta.dirname, 'build.ts'), folder]);
    const chunk = readdirSync(folder).find((name) => name.startsWith('dbus-native'));
    assert.ok(chunk, 'the D-Bus library is a chunk of its own');
    const library = (await import(pathToFileURL(join(folder, chunk)).href)) as { default: { createClient: unknown } };
    assert.equal(typeof library.default.createClient, 'function');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
