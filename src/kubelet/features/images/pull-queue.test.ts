import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { PullQueue, selectNextPull } from './pull-queue.ts';

const never = new AbortController().signal;

function started(
  queue: PullQueue,
  registries: readonly string[],
  signal = never,
): { order: string[]; leave: (() => void)[] } {
  const order: string[] = [];
  const leave: (() => void)[] = [];
  for (const registry of registries) {
    queue.enter(registry, signal).then(
      (done) => {
        order.push(registry);
        leave.push(done);
      },
      () => order.push(`${registry} aborted`),
    );
  }
  return { order, leave };
}

describe('pull queue', () => {
  it('runs one after the other, first come first served, when serial', async () => {
    const clock = new FakeClock();
    const { order, leave } = started(new PullQueue({ clock, qps: 0, burst: 1, maxParallel: 1 }), ['a', 'b', 'a2']);
    await clock.settle();
    assert.deepEqual(order, ['a']);
    leave[0]?.();
    await clock.settle();
    assert.deepEqual(order, ['a', 'b']);
  });

  it('gives the next free place to the registry that has the fewest pulls running', async () => {
    const clock = new FakeClock();
    const queue = new PullQueue({ clock, qps: 0, burst: 1, maxParallel: 2 });
    const { order, leave } = started(queue, ['hangs', 'hangs', 'hangs', 'hangs', 'good']);
    await clock.settle();
    leave[0]?.();
    await clock.settle();
    assert.deepEqual(order, ['hangs', 'hangs', 'good']);
  });

  it('lets a burst through and then one per 1/qps', async () => {
    const clock = new FakeClock();
    const { order } = started(
      new PullQueue({ clock, qps: 5, burst: 10, maxParallel: undefined }),
      Array.from({ length: 15 }, (_, index) => `r${index}`),
    );
    await clock.settle();
    assert.equal(order.length, 10);
    await clock.advance(200);
    assert.equal(order.length, 11);
    await clock.advance(800);
    assert.equal(order.length, 15);
    assert.equal(clock.armedTimers, 0);
  });

  it('takes no place for a wait that was aborted', async () => {
    const clock = new FakeClock();
    const queue = new PullQueue({ clock, qps: 0, burst: 1, maxParallel: 1 });
    const first = started(queue, ['a']);
    const stop = new AbortController();
    const second = started(queue, ['b'], stop.signal);
    stop.abort();
    await clock.settle();
    assert.deepEqual(second.order, ['b aborted']);
    first.leave[0]?.();
    first.leave[0]?.();
    assert.deepEqual([queue.runningCount, queue.waitingCount], [0, 0]);
  });

  it('always picks a pull whose registry has the fewest running', () => {
    const registry = fc.constantFrom('a', 'b', 'c');
    fc.assert(
      fc.property(fc.array(registry, { minLength: 1 }), fc.dictionary(registry, fc.nat(5)), (registries, running) => {
        const waiting = registries.map((name, order) => ({ registry: name, order }));
        const counts = new Map(Object.entries(running));
        const picked = selectNextPull(waiting, counts);
        assert.ok(picked !== undefined);
        const load = (name: string): number => counts.get(name) ?? 0;
        assert.ok(
          waiting.every(
            (other) =>
              load(other.registry) > load(picked.registry) ||
              (load(other.registry) === load(picked.registry) && other.order >= picked.order),
          ),
        );
      }),
    );
  });
});
