import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseNodeLoad, readNodeLoad } from './linux-node-load.ts';

const STAT =
  'cpu  100 0 50 200 20 0 10 20 5 0\ncpu0 50 0 25 100 10 0 5 10 5 0\ncpu1 50 0 25 100 10 0 5 10 0 0\nctxt 1\nprocs_running 7\n';

test("idle time, capacity and stalls come from the kernel's counters; guest time is not counted twice", () => {
  assert.deepEqual(
    parseNodeLoad(
      STAT,
      'some avg10=50.35 avg60=48.28 avg300=28.92 total=138596339\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n',
    ),
    { idleMs: 2_200, capacityMs: 4_000, stalledMs: 138_596.339, runnable: 7, cores: 2 },
  );
});

test('a kernel without pressure information has no stalls; invalid text is no reading', () => {
  assert.equal(parseNodeLoad(STAT, undefined)?.stalledMs, undefined);
  assert.equal(parseNodeLoad('nothing', undefined), undefined);
  assert.equal(readNodeLoad('/nowhere'), undefined);
});

test('this machine can be read', () => {
  const load = readNodeLoad();
  assert.ok(load !== undefined && load.capacityMs > 0 && load.cores > 0);
});
