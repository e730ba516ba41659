import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatDurationMs, formatDurationNanos, parseDurationMs, parseDurationNanos } from './duration.ts';

test('durations read as Go reads them', () => {
  assert.deepEqual(
    ['300ms', '1h2m3s', '-1.5h', '0', '1m0.5s', '2us', '.5s'].map(parseDurationMs),
    [300, 3_723_000, -5_400_000, 0, 60_500, 0.002, 500],
  );
});

test('a number without unit, an empty text and an overflow are no durations', () => {
  assert.deepEqual(
    ['', '5', 's', '1d', '1 s', '1e3s', '99999999999h', '-', '.s'].map(parseDurationNanos),
    Array(9).fill(undefined),
  );
});

test('durations print as Go prints them', () => {
  assert.deepEqual([0, 300, 1500, 90_000, 3_600_000, 0.5, -1000].map(formatDurationMs), [
    '0s',
    '300ms',
    '1.5s',
    '1m30s',
    '1h0m0s',
    '500µs',
    '-1s',
  ]);
});

test('a printed duration parses to the same value', () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: -(2n ** 62n), max: 2n ** 62n }),
      (nanos) => parseDurationNanos(formatDurationNanos(nanos)) === nanos,
    ),
  );
});
