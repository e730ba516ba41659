import assert from 'node:assert/strict';
import { test } from 'node:test';
import { milliCpuOfQuota, milliCpuOfShares, quotaOfMilliCpu, sharesOfMilliCpu } from './cpu-units.ts';

test('shares and quota stay within the limits of the kernel, rounded as in upstream', () => {
  assert.deepEqual([0, 1, 2, 100, 1000, 300_000, 1e9].map(sharesOfMilliCpu), [2, 2, 2, 102, 1024, 262_144, 262_144]);
  assert.deepEqual(
    [0, 1, 5, 10, 500, 2500].map((milli) => quotaOfMilliCpu(milli, 100_000)),
    [0, 1000, 1000, 1000, 50_000, 250_000],
  );
});

test("the requested CPU is recovered from the kernel's values", () => {
  for (const milli of [10, 100, 250, 333, 1000, 4000]) {
    assert.equal(milliCpuOfShares(sharesOfMilliCpu(milli)), milli);
    assert.equal(milliCpuOfQuota(quotaOfMilliCpu(milli, 100_000), 100_000), milli);
  }
  assert.deepEqual([milliCpuOfShares(0), milliCpuOfQuota(-1, 100_000), milliCpuOfQuota(0, 0)], [0, 0, 0]);
});
