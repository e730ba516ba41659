import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import type { Stage } from './test-stages.ts';
import {
  arrange,
  computeIdlePercent,
  computeRetried,
  computeRetry,
  computeStageResult,
  parseIdle,
  parseTimes,
} from './test-stages.ts';

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
    flaky: [],
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

const withRetry: Stage = { ...tests, retry: ['node', '--test'] };
const failures = (...files: (string | undefined)[]) =>
  computeStageResult(
    withRetry,
    files.length === 0 ? 0 : 1,
    report({ tests: 9, passed: 9 - files.length }, { failed: files.map((file) => ({ name: 'a test', file })) }),
  );

test('a few failed files run again, and never those of a stage without outside programs', () => {
  assert.deepEqual(computeRetry(withRetry, failures('a.ts', 'b.ts', 'a.ts')), ['a.ts', 'b.ts']);
  assert.deepEqual(computeRetry(withRetry, failures('a.ts', 'b.ts', 'c.ts')), []);
  assert.deepEqual(computeRetry(withRetry, failures('a.ts', undefined)), []);
  assert.deepEqual(computeRetry(withRetry, computeStageResult(withRetry, 1, '')), []);
  assert.deepEqual(computeRetry(tests, failures('a.ts')), []);
  assert.deepEqual(computeRetry(withRetry, failures()), []);
});

test('what passes the second time is flaky; what fails twice, or finds no test, has failed', () => {
  const flaky = computeRetried(failures('a.ts'), failures());
  assert.deepEqual([flaky.passed, flaky.failed, flaky.flaky.length], [9, 0, 1]);
  assert.equal(computeRetried(failures('a.ts'), failures('a.ts')).failed, 1);
  assert.equal(computeRetried(failures('a.ts'), computeStageResult(withRetry, 0, report({}))).failed, 1);
});

test('stages run as they say, and one is shown while it runs; those of the background, too, where there is no other', () => {
  const stage = (name: string, runs?: Stage['runs']): Stage => ({ ...tests, name, runs });
  const shown = (name: string, isShown: boolean, runs?: Stage['runs']): Stage => ({ ...stage(name, runs), isShown });
  const [unit, lint, real, e2e] = [
    stage('unit', 'in the background'),
    stage('lint', 'in the background'),
    stage('real', 'at once'),
    stage('e2e', 'at once'),
  ];
  assert.deepEqual(arrange([unit, lint, real, e2e]), {
    atOnce: [shown('real', true, 'at once'), shown('e2e', false, 'at once')],
    inOrder: [],
    background: [unit, lint],
  });
  const none = { atOnce: [], inOrder: [], background: [] };
  assert.deepEqual(arrange([lint]), { ...none, background: [shown('lint', true)] });
  assert.deepEqual(arrange([unit, lint]), { ...none, background: [shown('unit', false), shown('lint', false)] });
  assert.deepEqual(arrange([stage('a'), stage('b')]), { ...none, inOrder: [shown('a', true), shown('b', true)] });
});

test('the file that ended last is named as in the repository', () => {
  const file = path.join(import.meta.dirname, 'test-stages.test.ts');
  const { lastFile } = computeStageResult(tests, 0, report({ tests: 1, passed: 1 }, { lastFile: file }));
  assert.equal(lastFile, 'scripts/test-stages.test.ts');
});

test('the share of idle time is that of all processors between two readings, waiting for disks included', () => {
  const before = parseIdle('cpu  100 10 50 800 40 0 5 1 0 0\ncpu0 1 2 3 4\n');
  const after = parseIdle('cpu  200 10 100 830 60 0 5 1 7 7\ncpu0 1 2 3 4\n');
  assert.deepEqual(before, { idle: 840, all: 1006 });
  assert.equal(computeIdlePercent(before, after), 25);
  assert.equal(computeIdlePercent(before, before), 0);
  assert.equal(computeIdlePercent(parseIdle(''), parseIdle('')), 0);
});

test('the processor time of a stage is that of the children of its shell', () => {
  assert.equal(parseTimes('0m0.01s 0m0.02s\n2m1.50s 0m3.25s\n'), 124.75);
  assert.equal(parseTimes(''), 0);
});
