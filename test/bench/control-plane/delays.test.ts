import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeDelays, spreadOf } from './delays.ts';

test('the spread of samples names the one in the middle, the 99th of 100 and the last', () => {
  assert.deepEqual(spreadOf(Array.from({ length: 100 }, (_, index) => 100 - index)), {
    p50Ms: 51,
    p99Ms: 100,
    maxMs: 100,
  });
  assert.deepEqual(spreadOf([]), { p50Ms: 0, p99Ms: 0, maxMs: 0 });
});

test('every watcher must have seen every write: what one has not seen is lost', () => {
  const first = Float64Array.of(12, 25);
  const second = Float64Array.of(11, 0);
  assert.deepEqual(judgeDelays([first, second], [10, 20], 0), {
    p50Ms: 2,
    p99Ms: 5,
    maxMs: 5,
    lost: 1,
    twice: 0,
    seen: 3,
  });
});

test('a watcher that was notified before the writer had no delay', () => {
  assert.equal(judgeDelays([Float64Array.of(9)], [10], 0).maxMs, 0);
});
