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

test('a node is overloaded when its processors were never idle and somebody always waited for one', () => {
  assert.equal(after({ stalledMs: 950, idleMs: 20 }), true);
});

test('a pod that waits for its own limit, and processors that are merely busy, are no overload', () => {
  assert.equal(after({ stalledMs: 1_000, idleMs: 1_500 }), false);
  assert.equal(after({ stalledMs: 300, idleMs: 0 }), false);
});

test('where stalls are not counted, a long queue of runnable tasks stands for them', () => {
  const without = (runnable: number): boolean =>
    isOverloaded(
      { atMs: 0, load: load({ stalledMs: undefined }) },
      { atMs: 1_000, load: load({ capacityMs: 2_000, stalledMs: undefined, runnable }) },
    );
  assert.deepEqual([without(6), without(3)], [true, false]);
});

test('too short a time, and a node that cannot be read, say nothing', () => {
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
