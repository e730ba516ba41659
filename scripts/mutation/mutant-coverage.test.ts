import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addCoverage, createCoverage, takeCoverage } from './mutant-coverage.ts';

test('what a test file reaches outside of its tests counts for each of them', () => {
  const total = createCoverage();
  const running = { static: { hook: 2, both: 1 }, perTest: { a: { own: 1, both: 1 } } };
  addCoverage(total, { loading: { hook: 1, both: 1 }, running, tests: ['a', 'b'] });
  assert.deepEqual(total, { static: {}, perTest: { a: { own: 1, both: 2, hook: 2 }, b: { hook: 2, both: 1 } } });
});

test('what is reached only while the code is imported needs the code to be imported again', () => {
  const total = createCoverage();
  addCoverage(total, { loading: { table: 1 }, running: createCoverage(), tests: ['a'] });
  assert.deepEqual(total, { static: { table: 1 }, perTest: {} });
});

test('counting goes on in the same object after its counts are taken', () => {
  const counted = { static: { a: 1 }, perTest: { t: { b: 1 } } };
  assert.deepEqual(takeCoverage(counted), { static: { a: 1 }, perTest: { t: { b: 1 } } });
  assert.deepEqual(counted, createCoverage());
});
