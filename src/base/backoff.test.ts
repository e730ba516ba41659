import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { BackoffCurve, BackoffEntry } from './backoff.ts';
import { backoffDelayMs, nextBackoff } from './backoff.ts';

/** Upstream's curve for crashed containers. */
const crash: BackoffCurve = { initialMs: 10_000, maxMs: 300_000, factor: 2 };
const curve = fc.record({
  initialMs: fc.integer({ min: 1, max: 60_000 }),
  maxMs: fc.integer({ min: 60_000, max: 600_000 }),
  factor: fc.double({ min: 1, max: 10, noNaN: true }),
});

describe('back-off', () => {
  it('doubles from ten seconds to five minutes, like the crash back-off of containers', () => {
    assert.deepEqual(
      [0, 1, 2, 3, 4, 5, 6, 7, 1000].map((failures) => backoffDelayMs(crash, failures)),
      [0, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000, 300_000],
    );
  });

  it('never shrinks with more failures and stays between its ends', () => {
    fc.assert(
      fc.property(curve, fc.integer({ min: 1, max: 10_000 }), (any, failures) => {
        const delay = backoffDelayMs(any, failures);
        assert.ok(delay >= any.initialMs && delay <= any.maxMs && delay <= backoffDelayMs(any, failures + 1));
      }),
    );
  });

  it('gives the same delay by entry as by count, while failures continue', () => {
    fc.assert(
      fc.property(curve, fc.integer({ min: 1, max: 20 }), (any, failures) => {
        let entry: BackoffEntry | undefined;
        for (let i = 0; i < failures; i++) entry = nextBackoff(any, entry, i, 2 * any.maxMs);
        const expected = backoffDelayMs(any, failures);
        assert.ok(Math.abs((entry?.delayMs ?? 0) - expected) <= expected * 1e-9);
      }),
    );
  });

  it('starts again only after a quiet time longer than the limit', () => {
    const entry = { delayMs: 80_000, lastUpdateMs: 1000 };
    assert.equal(nextBackoff(crash, entry, 601_000, 600_000).delayMs, 160_000);
    assert.deepEqual(nextBackoff(crash, entry, 601_001, 600_000), { delayMs: 10_000, lastUpdateMs: 601_001 });
  });
});
