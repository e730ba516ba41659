import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { seededRandom } from './random.ts';
import type { SettlingLoopOptions } from './settling-loop.ts';
import { createSettlingLoop } from './settling-loop.ts';
import { FakeClock } from './testing/fake-clock.ts';
import { recordingLog } from './testing/recording-log.ts';

/** Creates a loop whose first passes have these outcomes; later passes settle. */
function fixture(outcomes: (boolean | Error)[], more: Partial<SettlingLoopOptions> = {}) {
  const clock = new FakeClock();
  const log = recordingLog();
  const passesAtMs: number[] = [];
  const loop = createSettlingLoop({
    ...{ name: 'test', clock, random: seededRandom(1), log, checkMs: 10_000, retryMs: 1000, failure: 'unable to test' },
    settle: async () => {
      passesAtMs.push(clock.monotonicMs());
      const outcome = outcomes.shift() ?? true;
      if (outcome instanceof Error) throw outcome;
      return outcome;
    },
    ...more,
  });
  let isSettled = false;
  void loop.whenSettled().then(() => (isSettled = true));
  return { clock, log, loop, passesAtMs, first: () => isSettled };
}

describe('a loop that settles', () => {
  it('waits for missing facts without an error', async () => {
    const { clock, log, loop, first, passesAtMs } = fixture([false]);
    loop.start();
    await clock.advance(1);
    assert.deepEqual([first(), loop.isSettled(), loop.hasFailed(), log.lines], [false, false, false, []]);
    loop.wake();
    await clock.advance(1);
    assert.deepEqual([first(), loop.isSettled(), passesAtMs], [true, true, [0, 1]]);
    await loop.stop();
  });

  it('checks at intervals, and retries a failure sooner', async () => {
    const { clock, log, loop, first, passesAtMs } = fixture([new Error('busy'), true, new Error('busy'), false]);
    loop.start();
    await clock.advance(500);
    assert.deepEqual([first(), loop.isSettled(), loop.hasFailed()], [false, false, true]);
    await clock.advance(10_700);
    assert.deepEqual(passesAtMs, [0, 1000, 11_000]);
    assert.deepEqual([first(), loop.isSettled(), loop.hasFailed()], [true, false, true]);
    assert.deepEqual(log.lines[0], {
      level: 'error',
      message: 'unable to test',
      fields: { error: 'busy', retryMs: 1000 },
    });
    await clock.advance(1000);
    assert.deepEqual([loop.hasFailed(), passesAtMs.at(-1)], [true, 12_000]);
    await clock.advance(1000);
    assert.deepEqual([loop.isSettled(), loop.hasFailed(), passesAtMs.at(-1)], [true, false, 13_000]);
    await loop.stop();
  });

  it('merges wakes within the gathering time into one pass', async () => {
    const { clock, loop, passesAtMs } = fixture([], { gatherMs: () => 30 });
    loop.start();
    await clock.advance(100);
    loop.wake();
    await clock.advance(20);
    loop.wake();
    await clock.advance(100);
    assert.deepEqual(passesAtMs, [0, 130]);
    loop.wake();
    await loop.stop();
    await clock.advance(20_000);
    assert.deepEqual(passesAtMs, [0, 130]);
  });
});
