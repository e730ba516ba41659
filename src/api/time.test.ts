import assert from 'node:assert/strict';
import { it } from 'node:test';
import { formatMicroTime, formatTime, parseTime } from './time.ts';

const at = Date.UTC(2026, 1, 3, 4, 5, 6, 789);

it('times have whole seconds, rounded down also before 1970', () => {
  assert.deepEqual([formatTime(at), formatTime(-1)], ['2026-02-03T04:05:06Z', '1969-12-31T23:59:59Z']);
});

it('micro times have six decimals', () => {
  assert.deepEqual(
    [formatMicroTime(at), formatMicroTime(0)],
    ['2026-02-03T04:05:06.789000Z', '1970-01-01T00:00:00.000000Z'],
  );
});

it('a formatted time parses to the same value, and an invalid time is undefined', () => {
  assert.deepEqual(
    [parseTime(formatMicroTime(at)), parseTime(formatTime(at)), parseTime('soon'), parseTime(undefined)],
    [at, at - 789, undefined, undefined],
  );
});
