import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';

const HOOKS = path.join(import.meta.dirname, 'test-hooks.mjs');

/** Without what says how this test itself runs. */
function cleanEnv(): NodeJS.ProcessEnv {
  const { NODE_TEST_CONTEXT: _context, TEST_SHARD: _shard, TEST_REPORT: _report, ...env } = process.env;
  return { ...env, NODE_OPTIONS: '' };
}

/** Runs a test file as the stages do. */
function runFile(body: string): { exitCode: number | null; printed: string } {
  const folder = mkdtempSync(path.join(tmpdir(), 'kubelet-ts-hooks-'));
  try {
    const file = path.join(folder, 'a.test.mjs');
    writeFileSync(file, `import assert from 'node:assert/strict';\nimport { it } from 'node:test';\n${body}\n`);
    const child = spawnSync(process.execPath, [`--import=${HOOKS}`, '--test', '--test-reporter=tap', file], {
      env: cleanEnv(),
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

test('a test of a suite that hangs fails at the limit of the unit tests', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'kubelet-ts-hooks-'));
  try {
    const file = path.join(folder, 'a.test.mjs');
    const forEver = 'new Promise(() => setInterval(() => undefined, 1000).unref())';
    writeFileSync(
      file,
      `import { describe, it } from 'node:test';\ndescribe('a', () => { it('b', () => ${forEver}); });\n`,
    );
    const runner = path.join(import.meta.dirname, 'unit-tests.mjs');
    const child = spawnSync(process.execPath, ['--test-timeout=50', runner, file], {
      env: cleanEnv(),
      encoding: 'utf8',
    });
    assert.equal(child.status, 1);
    assert.match(child.stdout, /test timed out after 50ms/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
