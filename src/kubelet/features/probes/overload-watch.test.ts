import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import type { NodeLoad } from '../../ports/node-load.ts';
import { isOverloaded, OverloadWatch } from './overload-watch.ts';

const load = (changes: Partial<NodeLoad> = {}): NodeLoad => ({
  idleMs: 0,
  capacityMs: 0,
  stalledMs: 0,
  runnable: 0,
  cores: 2,
  ...changes,
});
const after = (changes: Partial<NodeLoad>, spanMs = 1_000): boolean =>
  isOverloaded({ atMs: 0, load: load() }, { atMs: spanMs, load: load({ capacityMs: 2 * spanMs, ...changes }) });

test('a node is overloaded when its processors were never idle and tasks always waited for one', () => {
  assert.equal(after({ stalledMs: 950, idleMs: 20 }), true);
});

test('a pod throttled by its own limit, and merely busy processors, are no overload', () => {
  assert.equal(after({ stalledMs: 1_000, idleMs: 1_500 }), false);
  assert.equal(after({ stalledMs: 300, idleMs: 0 }), false);
});

test('a long queue of runnable tasks replaces stall counters where there are none', () => {
  const without = (runnable: number): boolean =>
    isOverloaded(
      { atMs: 0, load: load({ stalledMs: undefined }) },
      { atMs: 1_000, load: load({ capacityMs: 2_000, stalledMs: undefined, runnable }) },
    );
  assert.deepEqual([without(6), without(3)], [true, false]);
});

test('too short a time, and a node that cannot be read, give no result', () => {
  assert.equal(after({ stalledMs: 100 }, 100), false);
  assert.equal(isOverloaded({ atMs: 0, load: undefined }, { atMs: 1_000, load: load() }), false);
});

test('the load is read at most once a second, however many things begin', async () => {
  const clock = new FakeClock();
  let reads = 0;
  const watch = new OverloadWatch(clock, () => {
    reads++;
    return load();
  });
  for (let begun = 0; begun < 50; begun++) {
    watch.mark();
    await clock.advance(100);
  }
  assert.equal(reads, 5);
});

test('the limits themselves: a fifth of a second, a twentieth idle, four fifths stalled, three tasks for each processor', () => {
  assert.deepEqual([after({ stalledMs: 200 }, 200), after({ stalledMs: 199 }, 199)], [true, false]);
  assert.deepEqual([after({ stalledMs: 800, idleMs: 100 }), after({ stalledMs: 799, idleMs: 100 })], [true, false]);
  assert.deepEqual([after({ stalledMs: 900, idleMs: 101 }), after({ stalledMs: 900, idleMs: 0 })], [false, true]);
});

test('only counts since the start of the probe matter', () => {
  const old = { idleMs: 5_000, capacityMs: 50_000, stalledMs: 7_000 };
  const since = (idleMs: number, stalledMs: number): boolean =>
    isOverloaded(
      { atMs: 10_000, load: load(old) },
      { atMs: 11_000, load: load({ idleMs: 5_000 + idleMs, capacityMs: 52_000, stalledMs: 7_000 + stalledMs }) },
    );
  assert.deepEqual([since(0, 900), since(0, 300), since(1_000, 900)], [true, false, false]);
});

test('a node that cannot be read afterwards, whose counters stand still, or that counts stalls only later says nothing', () => {
  assert.equal(isOverloaded({ atMs: 0, load: load() }, { atMs: 1_000, load: undefined }), false);
  assert.equal(after({ stalledMs: 1_000, capacityMs: 0 }), false);
  const half = (before: number | undefined, later: number | undefined): boolean =>
    isOverloaded(
      { atMs: 0, load: load({ stalledMs: before }) },
      { atMs: 1_000, load: load({ capacityMs: 2_000, stalledMs: later, runnable: 9 }) },
    );
  assert.deepEqual([half(undefined, 0), half(0, undefined), half(0, 0)], [true, true, false]);
});
