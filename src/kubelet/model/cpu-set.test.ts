import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatCpuSet, parseCpuSet, sameCpus } from './cpu-set.ts';

test('a CPU list is read as a sorted set', () => {
  assert.deepEqual(parseCpuSet('3,0-1,1'), [0, 1, 3]);
  assert.deepEqual(parseCpuSet(''), []);
  for (const text of ['a', '1-', '3-1', '1,,2', '-1', '0-999999999']) assert.equal(parseCpuSet(text), undefined, text);
});

test('a set of CPUs is written in ranges, in ascending order', () => {
  assert.equal(formatCpuSet([8, 1, 0, 2]), '0-2,8');
  assert.equal(formatCpuSet([]), '');
  assert.deepEqual(parseCpuSet(formatCpuSet([5, 7, 6, 0])), [0, 5, 6, 7]);
});

test('sets are compared by their members', () => {
  assert.equal(sameCpus(new Set([1, 0]), new Set([0, 1])), true);
  assert.equal(sameCpus(new Set([0]), new Set([0, 1])), false);
});
