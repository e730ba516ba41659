import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { PressureState } from './pressure-state.ts';
import { afterActing, nextChangeMs, nextPressure, noPressureYet } from './pressure-state.ts';
import type { Observations } from './signals.ts';
import { parseThresholds } from './thresholds.ts';

const thresholds = parseThresholds(
  {
    hard: { 'memory.available': '100', 'nodefs.available': '100' },
    soft: { 'memory.available': '200' },
    softGraceMs: { 'memory.available': 5000 },
    minimumReclaim: { 'memory.available': '50' },
  },
  false,
);
const settings = { thresholds, transitionMs: 60_000 };
const seen = (memory: number, atMs: number, nodefs = 1000): Observations =>
  new Map([
    ['memory.available', { available: memory, capacity: 1000, atMs }],
    ['nodefs.available', { available: nodefs, capacity: 1000, atMs }],
  ]);
const keys = (list: readonly { signal: string; graceMs: number }[]): string[] =>
  list.map(({ signal, graceMs }) => `${signal} ${graceMs}`);

test('memory is reclaimed before disk, hard thresholds before soft ones', () => {
  const { toReclaim, conditions } = nextPressure(noPressureYet, seen(50, 0, 50), settings, 0);
  assert.deepEqual(keys(toReclaim), ['memory.available 0', 'nodefs.available 0']);
  assert.deepEqual(conditions, ['DiskPressure', 'MemoryPressure']);
  const later = nextPressure(
    nextPressure(noPressureYet, seen(50, 0, 50), settings, 0).state,
    seen(50, 5000, 50),
    settings,
    5000,
  );
  assert.deepEqual(keys(later.toReclaim), ['memory.available 0', 'memory.available 5000', 'nodefs.available 0']);
});

test('the same reading is acted on only once', () => {
  const observations = seen(50, 0);
  const { state } = nextPressure(noPressureYet, observations, settings, 0);
  const acted = afterActing(state, observations);
  assert.deepEqual(nextPressure(acted, observations, settings, 10).toReclaim, []);
  assert.equal(nextPressure(acted, seen(50, 11), settings, 11).toReclaim.length, 1);
});

test('pressure that caused an action ends only after the minimum reclaim, other pressure ends at the threshold', () => {
  const { state } = nextPressure(noPressureYet, seen(50, 0), settings, 0);
  assert.deepEqual(keys(nextPressure(state, seen(149, 1), settings, 1).toReclaim), ['memory.available 0']);
  assert.deepEqual(keys(nextPressure(state, seen(150, 1), settings, 1).toReclaim), []);
  assert.deepEqual(keys(nextPressure(noPressureYet, seen(149, 1), settings, 1).toReclaim), []);
});

test('the next change is the end of a grace or a transition period', () => {
  const { state } = nextPressure(noPressureYet, seen(150, 1000), settings, 1000);
  assert.equal(nextChangeMs(state, settings, 1000), 6000);
  assert.equal(nextChangeMs(state, settings, 6000), 61_000);
  assert.equal(nextChangeMs(noPressureYet, settings, 0), undefined);
});

test('a condition is true while a threshold is met, and then for the transition period: it never flaps within it', () => {
  const steps = fc.array(
    fc.record({ memory: fc.integer({ min: 0, max: 400 }), waitMs: fc.integer({ min: 1, max: 90_000 }) }),
    { maxLength: 40 },
  );
  fc.assert(
    fc.property(steps, (list) => {
      let state: PressureState = noPressureYet;
      let nowMs = 0;
      let lastMetMs = -Infinity;
      for (const { memory, waitMs } of list) {
        nowMs += waitMs;
        const verdict = nextPressure(state, seen(memory, nowMs), settings, nowMs);
        state = verdict.state;
        if (memory < 200) lastMetMs = nowMs;
        // The minimum reclaim may make it last longer, never shorter.
        if (nowMs - lastMetMs < 60_000) assert.deepEqual(verdict.conditions, ['MemoryPressure']);
        if (memory >= 250 && nowMs - lastMetMs >= 180_000 + 90_000) assert.deepEqual(verdict.conditions, []);
        for (const { graceMs } of verdict.toReclaim) assert.ok(memory < 250 && (graceMs === 0 || memory < 250));
      }
    }),
  );
});
