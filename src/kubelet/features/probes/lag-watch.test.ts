import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { LagWatch } from './lag-watch.ts';

/** A clock whose time can pass while no timer fires, as with a blocked event loop. */
class BlockedClock extends FakeClock {
  #blockedMs = 0;
  override monotonicMs(): number {
    return super.monotonicMs() + this.#blockedMs;
  }
  block(ms: number): void {
    this.#blockedMs += ms;
  }
}

test('a loop that is on time has no lag', async () => {
  const clock = new BlockedClock();
  const measurement = new LagWatch(clock).begin();
  await clock.advance(10_000);
  assert.equal(measurement.end(), 0);
});

test('a block is seen even before the pulse that it delayed', async () => {
  const clock = new BlockedClock();
  const measurement = new LagWatch(clock).begin();
  await clock.advance(75);
  clock.block(3_000);
  const lagMs = measurement.end();
  assert.ok(lagMs >= 2_950 && lagMs <= 3_000, String(lagMs));
});

test('a past block still counts for what was running then, and not for what began later', async () => {
  const clock = new BlockedClock();
  const watch = new LagWatch(clock);
  const early = watch.begin();
  await clock.advance(75);
  clock.block(3_000);
  await clock.advance(200);
  const late = watch.begin();
  await clock.advance(200);
  assert.ok(early.end() >= 2_950);
  assert.equal(late.end(), 0);
});

test('no timer runs while nothing is measured', async () => {
  const clock = new BlockedClock();
  const watch = new LagWatch(clock);
  const [one, two] = [watch.begin(), watch.begin()];
  one.end();
  one.end();
  assert.equal(clock.armedTimers, 1);
  two.end();
  assert.equal(clock.armedTimers, 0);
});

test('two blocks add up, and none counts for longer than the measurement', async () => {
  const clock = new BlockedClock();
  const watch = new LagWatch(clock);
  const other = watch.begin();
  await clock.advance(1_000);
  const measurement = watch.begin();
  await clock.advance(75);
  clock.block(1_000);
  await clock.advance(200);
  clock.block(2_000);
  await clock.advance(200);
  const lagMs = measurement.end();
  assert.ok(lagMs >= 2_900 && lagMs <= 3_000, String(lagMs));
  other.end();
  const begun = watch.begin();
  clock.block(500);
  assert.ok(begun.end() <= 500);
});

test('a measurement that begins within a block counts the rest of it', async () => {
  const clock = new BlockedClock();
  const watch = new LagWatch(clock);
  const other = watch.begin();
  await clock.advance(75);
  clock.block(2_000);
  const late = watch.begin();
  clock.block(1_000);
  assert.equal(late.end(), 1_000);
  const later = watch.begin();
  clock.block(500);
  await clock.advance(100);
  const lagMs = later.end();
  assert.ok(lagMs >= 500 && lagMs <= 600, String(lagMs));
  other.end();
});
