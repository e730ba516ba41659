import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCpuSet } from './cpu-set.ts';

test('a CPU list is read as a sorted set', () => {
  assert.deepEqual(parseCpuSet('3,0-1,1'), [0, 1, 3]);
  assert.deepEqual(parseCpuSet(''), []);
  for (const text of ['a', '1-', '3-1', '1,,2', '-1', '0-999999999']) assert.equal(parseCpuSet(text), undefined, text);
});
