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
  it('hands out each pod when it is due, those of one moment together', async () => {
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

  it('keeps one plan for each pod: the last', async () => {
    const { clock, due, queue } = setUp();
    queue.schedule(a, 1000);
    queue.schedule(a, 5000);
    await clock.advance(4000);
    assert.deepEqual([due, queue.delayOf(a)], [[], 1000]);
    await clock.advance(1000);
    assert.deepEqual([due, queue.delayOf(a)], [['a'], undefined]);
  });

  it('takes a delay below zero for now, and says so', async () => {
    const { clock, due, queue } = setUp();
    queue.schedule(a, -5);
    assert.equal(queue.delayOf(a), 0);
    await clock.advance(0);
    assert.deepEqual(due, ['a']);
  });

  it('drops a pod that is forgotten, and all when it stops', async () => {
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
