import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { podUid } from '../../model/ids.ts';
import { WorkQueue } from './work-queue.ts';

const [a, b, c] = [podUid('a'), podUid('b'), podUid('c')];

function setUp() {
  const clock = new FakeClock();
  const due: string[] = [];
  const queue = new WorkQueue(clock, (uids) => void due.push(uids.join(' ')));
  return { clock, due, queue };
}

describe('the queue of pods that are due later', () => {
  it('returns each pod when it is due, and pods that are due at the same time together', async () => {
    const { clock, due, queue } = setUp();
    queue.schedule(a, 3000);
    queue.schedule(b, 1000);
    queue.schedule(c, 3000);
    await clock.advance(999);
    assert.deepEqual(due, []);
    await clock.advance(1);
    assert.deepEqual(due, ['b']);
    await clock.advance(2000);
    assert.deepEqual(due, ['b', 'a c']);
    await clock.advance(100_000);
    assert.deepEqual(due, ['b', 'a c'], 'once');
  });

  it('keeps only the last due time of each pod', async () => {
    const { clock, due, queue } = setUp();
    queue.schedule(a, 1000);
    queue.schedule(a, 5000);
    await clock.advance(4000);
    assert.deepEqual([due, queue.delayOf(a)], [[], 1000]);
    await clock.advance(1000);
    assert.deepEqual([due, queue.delayOf(a)], [['a'], undefined]);
  });

  it('treats a negative delay as 0, and logs it', async () => {
    const { clock, due, queue } = setUp();
    queue.schedule(a, -5);
    assert.equal(queue.delayOf(a), 0);
    await clock.advance(0);
    assert.deepEqual(due, ['a']);
  });

  it('drops a forgotten pod, and all pods when it stops', async () => {
    const { clock, due, queue } = setUp();
    for (const uid of [a, b]) queue.schedule(uid, 1000);
    queue.forget(a);
    await clock.advance(1000);
    assert.deepEqual(due, ['b']);
    queue.schedule(c, 1000);
    queue.stop();
    await clock.advance(5000);
    assert.deepEqual([due, queue.delayOf(c)], [['b'], undefined]);
    queue.schedule(c, 1000);
    await clock.advance(1000);
    assert.deepEqual(due, ['b', 'c'], 'and it can be used again');
  });
});
