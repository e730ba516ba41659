import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import { sleep, systemClock, withDeadline } from './clock.ts';
import { errorKind, KubeletError } from './errors.ts';
import { FakeClock } from './testing/fake-clock.ts';

const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;
const kindOf = (work: Promise<unknown>): Promise<string> => work.then(() => 'done', errorKind);

describe('sleep', () => {
  it('ends after its time and leaves no listener and no timer', async () => {
    const clock = new FakeClock();
    const { signal } = new AbortController();
    const slept = sleep(clock, 100, signal);
    assert.equal(listeners(signal), 1);
    await clock.advance(100);
    await slept;
    assert.deepEqual([listeners(signal), clock.armedTimers], [0, 0]);
  });

  it('rejects as Aborted at once when its signal aborts or has aborted', async () => {
    const clock = new FakeClock();
    const controller = new AbortController();
    const slept = kindOf(sleep(clock, 100, controller.signal));
    controller.abort();
    assert.deepEqual(
      [await slept, await kindOf(sleep(clock, 100, controller.signal)), clock.armedTimers],
      ['Aborted', 'Aborted', 0],
    );
  });
});

describe('a deadline', () => {
  const limit = { limitMs: 1000, op: 'mount' };

  it('passes on the result or error of work that is in time, and leaves no timer', async () => {
    const clock = new FakeClock();
    const { signal } = new AbortController();
    assert.equal(await withDeadline({ clock, signal, ...limit }, async () => 7), 7);
    const failing = withDeadline({ clock, signal, ...limit }, () => Promise.reject(new KubeletError('NotFound', 'x')));
    assert.equal(await kindOf(failing), 'NotFound');
    const throwing = withDeadline({ clock, signal, ...limit }, () => {
      throw new KubeletError('Invalid', 'x');
    });
    assert.deepEqual([await kindOf(throwing), listeners(signal), clock.armedTimers], ['Invalid', 0, 0]);
  });

  it('rejects as Timeout naming the work, aborts it, and ignores later errors', async () => {
    const clock = new FakeClock();
    let aborted = false;
    const work = (signal: AbortSignal) =>
      sleep(clock, 5000, signal).finally(() => {
        aborted = true;
      });
    const late = withDeadline({ clock, ...limit }, work).catch((error: unknown) => error);
    await clock.advance(1000);
    const error = (await late) as KubeletError;
    assert.deepEqual(
      [error.kind, error.message, error.op, aborted, clock.armedTimers],
      ['Timeout', 'mount took longer than 1000 ms', 'mount', true, 0],
    );
  });

  it('passes on an abort, also an earlier one', async () => {
    const clock = new FakeClock();
    const controller = new AbortController();
    const run = () =>
      kindOf(withDeadline({ clock, signal: controller.signal, ...limit }, (signal) => sleep(clock, 500, signal)));
    const running = run();
    controller.abort();
    assert.deepEqual([await running, await run(), listeners(controller.signal)], ['Aborted', 'Aborted', 0]);
  });
});

describe('the system clock', () => {
  it('supports delays longer than a timer of Node, without firing at once', async (test) => {
    test.mock.timers.enable({ apis: ['setTimeout'] });
    let fired = false;
    const month = 30 * 86_400_000;
    systemClock.setTimer(month, () => (fired = true));
    test.mock.timers.tick(2 ** 31 - 1);
    assert.equal(fired, false);
    test.mock.timers.tick(month - (2 ** 31 - 1));
    assert.equal(fired, true);
  });

  it('does not fire a cancelled timer', async () => {
    let fired = false;
    systemClock.setTimer(0, () => (fired = true)).cancel();
    await new Promise<void>((resolve) => void systemClock.setTimer(1, resolve));
    assert.equal(fired, false);
  });
});
