import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { computePauseMs, fallingPerMs, LONGEST_PAUSE_MS, SHORTEST_PAUSE_MS } from './next-reading.ts';
import type { Threshold } from './thresholds.ts';

const threshold: Threshold = {
  signal: 'memory.available',
  value: { kind: 'amount', amount: 100e6, text: '100M' },
  graceMs: 0,
  minimumReclaim: undefined,
};
const pause = (available: number, rate = 0): number =>
  computePauseMs(
    'memory',
    [threshold],
    new Map([['memory.available', { available, capacity: 64e9, atMs: 0 }]]),
    new Map([['memory.available', rate]]),
  );

test('the pause shrinks with the distance to the threshold, between 10 s and 100 ms', () => {
  assert.deepEqual(
    [pause(60e9), pause(5.1e9), pause(1.1e9), pause(101e6)],
    [LONGEST_PAUSE_MS, 5000, 1000, SHORTEST_PAUSE_MS],
  );
});

test('an observed rate above the assumed one shortens it further', () => {
  assert.equal(pause(8.1e9, 4e6), 1000);
});

test('a source without a reading or a threshold is read every 10 s', () => {
  assert.equal(computePauseMs('nodefs', [threshold], new Map(), new Map()), LONGEST_PAUSE_MS);
});

test('a source is read every second while one of its thresholds is met, or sooner for another one that is near', () => {
  assert.deepEqual([pause(100e6), pause(99e6), pause(0)], [SHORTEST_PAUSE_MS, 1000, 1000]);
  const soft: Threshold = { ...threshold, value: { kind: 'amount', amount: 300e6, text: '300M' } };
  const observed = new Map([['memory.available', { available: 299e6, capacity: 64e9, atMs: 0 }] as const]);
  for (const thresholds of [
    [soft, threshold],
    [threshold, soft],
  ])
    assert.equal(computePauseMs('memory', thresholds, observed, new Map()), 199);
  assert.equal(computePauseMs('memory', [soft], observed, new Map()), 1000);
});

test('only the thresholds of the source count, and a percentage refers to the capacity', () => {
  const share: Threshold = { ...threshold, value: { kind: 'share', share: 0.1 } };
  const inodes: Threshold = { ...share, signal: 'nodefs.inodesFree' };
  const observed = new Map([
    ['memory.available', { available: 6.6e9, capacity: 64e9, atMs: 0 }],
    ['nodefs.inodesFree', { available: 150_000, capacity: 1_000_000, atMs: 0 }],
  ] as const);
  const pauseOf = (source: 'memory' | 'nodefs'): number =>
    computePauseMs(source, [share, inodes], observed, new Map([['nodefs.inodesFree', 30]]));
  assert.deepEqual([pauseOf('memory'), pauseOf('nodefs')], [200, 500]);
});

test('twice the observed rate counts only if it is above the assumed one', () => {
  assert.deepEqual([pause(2.1e9, 0.4e6), pause(2.1e9, 1e6), pause(2.1e9, 0.6e6)], [2000, 1000, 2000e6 / 1.2e6]);
});

test('the rate of a signal is the difference of two readings divided by their interval', () => {
  const at = (atMs: number, available: number) => ({ atMs, available, capacity: 100 });
  assert.equal(fallingPerMs(at(1000, 90), at(1010, 40)), 5);
  assert.equal(fallingPerMs(at(1000, 40), at(1010, 90)), 0);
  assert.equal(fallingPerMs(undefined, at(1010, 40)), 0);
  assert.equal(fallingPerMs(at(1010, 90), at(1010, 40)), 0);
  assert.equal(fallingPerMs(at(1020, 90), at(1010, 40)), 0);
});

test('a consumer up to the assumed rate crosses the threshold unnoticed for at most the shortest pause', () => {
  fc.assert(
    fc.property(
      fc.double({ min: 1, max: 1e6, noNaN: true }),
      fc.double({ min: 0, max: 60e9, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (bytesPerMs, startBytes, begin) => {
        // The consumer starts anywhere within the first pause.
        let available = 100e6 + startBytes;
        let pauseMs = pause(available);
        let consumingMs = pauseMs * begin;
        for (let reads = 0; reads < 10_000; reads++) {
          const before = available;
          available -= consumingMs * bytesPerMs;
          if (available < 100e6) {
            const lateMs = (100e6 - available) / bytesPerMs;
            assert.ok(lateMs <= SHORTEST_PAUSE_MS + 1e-6, `${lateMs} ms late`);
            return;
          }
          const rate = fallingPerMs(
            { available: before, capacity: 0, atMs: 0 },
            { available, capacity: 0, atMs: pauseMs },
          );
          pauseMs = pause(available, rate);
          consumingMs = pauseMs;
        }
      },
    ),
    { numRuns: 300 },
  );
});
