import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sleep } from '../clock.ts';
import { FakeClock } from './fake-clock.ts';

describe('virtual time', () => {
  it('fires timers by time and then by creation, each at its own moment', async () => {
    const clock = new FakeClock();
    const fired: string[] = [];
    for (const [name, delayMs] of [
      ['c', 30],
      ['a', 10],
      ['d', 30],
      ['b', 20],
    ] as const)
      clock.setTimer(delayMs, () => fired.push(`${name} ${clock.monotonicMs()}`));
    await clock.advance(29);
    assert.deepEqual([fired, clock.armedTimers], [['a 10', 'b 20'], 2]);
    await clock.advance(1);
    assert.deepEqual(fired.slice(2), ['c 30', 'd 30']);
  });

  it('fires what a due timer or a promise sets up within the advanced time', async () => {
    const clock = new FakeClock();
    const wokenAtMs: number[] = [];
    const work = async (): Promise<void> => {
      for (let i = 0; i < 3; i++) {
        await sleep(clock, 10);
        wokenAtMs.push(clock.monotonicMs());
      }
    };
    const done = work();
    await clock.advance(100);
    await done;
    assert.deepEqual([wokenAtMs, clock.monotonicMs()], [[10, 20, 30], 100]);
  });

  it('does not fire a cancelled timer when its time comes', async () => {
    const clock = new FakeClock();
    const fired: string[] = [];
    const second = clock.setTimer(10, () => fired.push('second'));
    clock.setTimer(5, () => second.cancel());
    await clock.advance(20);
    assert.deepEqual([fired, clock.armedTimers], [[], 0]);
  });

  it('steps the wall clock without moving durations', async () => {
    const clock = new FakeClock(Date.UTC(2026, 0, 1));
    let fired = false;
    clock.setTimer(1000, () => (fired = true));
    clock.stepWall(-3_600_000);
    await clock.advance(999);
    assert.deepEqual([fired, new Date(clock.nowMs()).toISOString()], [false, '2025-12-31T23:00:00.999Z']);
    await clock.advance(1);
    assert.equal(fired, true);
  });

  it('advances until a condition holds, or returns that it does not', async () => {
    const clock = new FakeClock();
    let count = 0;
    clock.setTimer(10, () => count++);
    clock.setTimer(20, () => count++);
    assert.deepEqual([await clock.advanceUntil(() => count === 1, 1000), clock.monotonicMs()], [true, 10]);
    assert.deepEqual([await clock.advanceUntil(() => count === 5, 1000), clock.monotonicMs()], [false, 1010]);
  });
});
