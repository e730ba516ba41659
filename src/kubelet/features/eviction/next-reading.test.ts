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

test('no consumer up to the assumed rate crosses the threshold unseen for longer than the shortest pause', () => {
  fc.assert(
    fc.property(
      fc.double({ min: 1, max: 1e6, noNaN: true }),
      fc.double({ min: 0, max: 60e9, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (bytesPerMs, startBytes, begin) => {
        // The consumer begins anywhere within the first pause.
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
