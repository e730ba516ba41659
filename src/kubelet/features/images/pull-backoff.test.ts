import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { PullBackoff } from './pull-backoff.ts';

describe('the back-off of pulls', () => {
  it('doubles from 10 s to 300 s, for each pod and image of its own', async () => {
    const clock = new FakeClock();
    const backoff = new PullBackoff(clock);
    const waits: number[] = [];
    for (let round = 0; round < 7; round++) {
      waits.push(backoff.failed('pod', 'image', 'no'));
      await clock.advance(waits.at(-1) ?? 0);
      assert.equal(backoff.waiting('pod', 'image'), undefined);
    }
    assert.deepEqual(
      waits,
      [10, 20, 40, 80, 160, 300, 300].map((seconds) => seconds * 1000),
    );
    assert.equal(backoff.failed('pod', 'other', 'no'), 10_000);
    assert.equal(backoff.failed('other', 'image', 'no'), 10_000);
  });

  it('returns the remaining time and the last error', async () => {
    const clock = new FakeClock();
    const backoff = new PullBackoff(clock);
    backoff.failed('pod', 'image', 'registry is down');
    await clock.advance(4000);
    assert.deepEqual(backoff.waiting('pod', 'image'), { leftMs: 6000, lastError: 'registry is down' });
    assert.equal(backoff.waiting('pod', 'other'), undefined);
  });

  it('ends with a success, and with its pod, but not with a pod of a similar uid', () => {
    const backoff = new PullBackoff(new FakeClock());
    for (const uid of ['pod', 'pod2']) backoff.failed(uid, 'image', 'no');
    backoff.forgetPod('pod');
    assert.equal(backoff.waiting('pod', 'image'), undefined);
    assert.notEqual(backoff.waiting('pod2', 'image'), undefined);
    backoff.succeeded('pod2', 'image');
    assert.equal(backoff.size, 0);
  });

  it('drops what has not failed for ten minutes', async () => {
    const clock = new FakeClock();
    const backoff = new PullBackoff(clock);
    backoff.failed('pod', 'old', 'no');
    await clock.advance(600_000);
    backoff.failed('pod', 'new', 'no');
    assert.equal(backoff.size, 2);
    await clock.advance(1);
    backoff.failed('pod', 'new', 'no');
    assert.equal(backoff.size, 1);
  });
});
