import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startIdleTimer } from './idle-timer.ts';
import { FakeClock } from './testing/fake-clock.ts';

test('the timer fires once, the set time after the last activity', async () => {
  const clock = new FakeClock();
  const silentMs: number[] = [];
  const watch = startIdleTimer(clock, 100, () => silentMs.push(clock.monotonicMs()));
  for (let word = 0; word < 5; word += 1) {
    await clock.advance(90);
    watch.heard();
    assert.equal(clock.armedTimers, 1);
  }
  await clock.advance(1_000);
  assert.deepEqual([silentMs, clock.armedTimers], [[550], 0]);
});

test('a cancelled timer does not fire', async () => {
  const clock = new FakeClock();
  startIdleTimer(clock, 100, () => assert.fail('fired')).cancel();
  await clock.advance(1_000);
});
