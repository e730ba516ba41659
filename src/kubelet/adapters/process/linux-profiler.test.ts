import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isKind } from '../../../base/errors.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { createProfiler } from './linux-profiler.ts';

describe('the profiler', () => {
  it('measures for the requested time, in V8’s formats, one at a time', async () => {
    const clock = new FakeClock();
    const profiler = createProfiler(clock);
    const measuring = profiler.cpu(1000, new AbortController().signal);
    await assert.rejects(profiler.heap(1, new AbortController().signal), (error) => isKind(error, 'Conflict'));
    assert.ok(await finished(clock, measuring));
    assert.ok(Array.isArray((JSON.parse(await measuring) as { nodes: unknown }).nodes));
    const heap = profiler.heap(1000, new AbortController().signal);
    assert.ok(await finished(clock, heap));
    assert.ok('head' in JSON.parse(await heap));
  });

  it('stops when its caller aborts, and can be used again', async () => {
    const clock = new FakeClock();
    const profiler = createProfiler(clock);
    const gone = AbortSignal.abort();
    await assert.rejects(profiler.cpu(1000, gone), (error) => isKind(error, 'Aborted'));
    const again = profiler.heap(10, new AbortController().signal);
    assert.ok(await finished(clock, again));
  });

  /** The session begins when it can, and then time passes. */
  async function finished(clock: FakeClock, work: Promise<unknown>): Promise<boolean> {
    let isDone = false;
    const end = (): void => void (isDone = true);
    work.then(end, end);
    for (let round = 0; round < 10_000 && !isDone; round++) await clock.advance(100);
    return isDone;
  }
});
