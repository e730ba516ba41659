import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Stage } from './test-stages.ts';
import { computeStageResult } from './test-stages.ts';

const tests: Stage = { name: 'unit', command: ['npm', 'run', 'test:unit'], kind: 'tests' };
const report = (counts: object, rest: object = {}): string =>
  JSON.stringify({ counts: { tests: 0, passed: 0, skipped: 0, todo: 0, ...counts }, failed: [], skipped: [], ...rest });

test('a check counts as one, passed or failed', () => {
  const check: Stage = { name: 'lint', command: ['npm', 'run', 'lint'], kind: 'check' };
  assert.deepEqual([computeStageResult(check, 0, '').passed, computeStageResult(check, 2, '').failed], [1, 1]);
});

test('tests count as reported, cancelled ones as failed, skipped ones by name', () => {
  const result = computeStageResult(
    tests,
    1,
    report(
      { tests: 10, passed: 6, skipped: 1, todo: 1 },
      {
        failed: [{ name: 'a', message: 'too late' }, { name: 'b' }],
        skipped: ['s', 't'],
        slowest: [{ name: 'a', ms: 9 }],
      },
    ),
  );
  assert.deepEqual(result, {
    passed: 6,
    failed: 2,
    failures: [{ name: 'a', message: 'too late' }, { name: 'b' }],
    skippedNames: ['s', 't'],
    slowest: [{ name: 'a', ms: 9 }],
  });
});

test('a run that found no test, crashed, or left no report is never green', () => {
  assert.equal(computeStageResult(tests, 0, report({})).failed, 1);
  assert.equal(computeStageResult(tests, 1, report({ tests: 3, passed: 3 })).failed, 1);
  assert.equal(computeStageResult(tests, 0, '').failed, 1);
  assert.equal(computeStageResult(tests, 0, '{"counts":').failed, 1);
});
