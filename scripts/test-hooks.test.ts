import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';

const HOOKS = path.join(import.meta.dirname, 'test-hooks.mjs');

/** Runs a test file as the stages do. */
function runFile(body: string): { exitCode: number | null; printed: string } {
  const folder = mkdtempSync(path.join(tmpdir(), 'kubelet-ts-hooks-'));
  try {
    const file = path.join(folder, 'a.test.mjs');
    writeFileSync(file, `import assert from 'node:assert/strict';\nimport { it } from 'node:test';\n${body}\n`);
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const child = spawnSync(process.execPath, [`--import=${HOOKS}`, '--test', '--test-reporter=tap', file], {
      env: { ...env, NODE_OPTIONS: '' },
      encoding: 'utf8',
    });
    return { exitCode: child.status, printed: `${child.stdout}${child.stderr}` };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test('promises of tests are not followed', () => {
  // A followed promise carries symbols of its async id.
  const body = `it('one', () => assert.deepEqual(Object.getOwnPropertySymbols(Promise.resolve(1).then(() => 2)), []));`;
  assert.equal(runFile(body).exitCode, 0);
});

test('errors that no test catches fail the run', () => {
  const thrown = runFile(`it('throws late', async () => {
    setTimeout(() => { throw new Error('in a timer'); }, 1);
    await new Promise((resolve) => setTimeout(resolve, 50));
  });`);
  assert.equal(thrown.exitCode, 1);
  assert.match(thrown.printed, /not ok \d+ - throws late/);
  const rejected = runFile(`it('rejects', async () => {
    void Promise.resolve().then(() => Promise.reject(new Error('of no one')));
    await new Promise((resolve) => setTimeout(resolve, 50));
  });`);
  assert.equal(rejected.exitCode, 1);
  assert.match(rejected.printed, /of no one/);
});
