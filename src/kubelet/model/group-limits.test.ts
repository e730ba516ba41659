import assert from 'node:assert/strict';
import { test } from 'node:test';
import { groupLimitsOf, hugePageFileName } from './group-limits.ts';

test('a group is limited in the resources that are named, and in no other', () => {
  assert.deepEqual(groupLimitsOf({ cpu: '500m', memory: '1Gi', pid: '1000', 'hugepages-2Mi': '4Mi' }), {
    cpuShares: 512,
    memoryBytes: 2 ** 30,
    pidsMax: 1000,
    hugetlbBytes: { '2MB': 4 * 2 ** 20 },
  });
  assert.deepEqual(groupLimitsOf({ 'ephemeral-storage': '1Gi' }), {});
});

test('compressible resources are CPU alone', () => {
  assert.deepEqual(groupLimitsOf({ cpu: '1', memory: '1Gi', pid: '1000' }, true), { cpuShares: 1024 });
});

test('page sizes are spelled as in file names of the kernel', () => {
  assert.deepEqual([2 ** 16, 2 ** 21, 2 ** 30].map(hugePageFileName), ['64KB', '2MB', '1GB']);
});
