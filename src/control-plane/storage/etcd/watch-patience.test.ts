import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { WatchPatience } from './watch-patience.ts';

function world(): {
  clock: FakeClock;
  watch: { position: number | undefined; stalls: number };
  patience: WatchPatience;
} {
  const clock = new FakeClock();
  const watch: { position: number | undefined; stalls: number } = { position: 1, stalls: 0 };
  const patience = new WatchPatience({
    clock,
    position: () => watch.position,
    onStalled: () => void (watch.stalls += 1),
  });
  return { clock, watch, patience };
}

test('a watch that brings nothing although the store has changed is stalled', async () => {
  const { clock, watch, patience } = world();
  patience.expect(1);
  await clock.advance(10_000);
  assert.equal(watch.stalls, 0);
  patience.expect(2);
  await clock.advance(700);
  assert.equal(watch.stalls, 0);
  await clock.advance(100);
  assert.equal(watch.stalls, 1);
});

test('a watch that is behind but gets on is not stalled, nor is one that is being opened', async () => {
  const { clock, watch, patience } = world();
  patience.expect(100);
  for (let step = 2; step < 50; step += 1) {
    await clock.advance(300);
    watch.position = step;
  }
  watch.position = undefined;
  await clock.advance(10_000);
  assert.equal(watch.stalls, 0);
});

test('watches that bring nothing one after the other get more and more time, until one brings something', async () => {
  const { clock, watch, patience } = world();
  const stallsWithin = async (ms: number): Promise<number> => {
    const before = watch.stalls;
    for (let leftMs = ms; leftMs > 0; leftMs -= 50) {
      patience.expect(1000);
      await clock.advance(50);
    }
    return watch.stalls - before;
  };
  assert.ok((await stallsWithin(60_000)) <= 9);
  watch.position = 500;
  assert.equal(await stallsWithin(1100), 1);
});
