import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { defaultSchedulerConfig } from '../config/scheduler-config.ts';
import { bound, buildNode, buildPod } from '../testing/builders.ts';
import { KeyedHeap } from './keyed-heap.ts';
import { computeBackoffUntil } from './queued-pod.ts';
import { LEFTOVER_MS, SchedulingQueue } from './scheduling-queue.ts';

function createQueue(): { readonly clock: FakeClock; readonly queue: SchedulingQueue; readonly woken: () => number } {
  const clock = new FakeClock();
  let woken = 0;
  const queue = new SchedulingQueue({
    ...defaultSchedulerConfig(),
    clock,
    heldBack: () => undefined,
    onReady: () => woken++,
  });
  return { clock, queue, woken: () => woken };
}

const name = (queued: { readonly info: { readonly pod: Pod } } | undefined): string | undefined =>
  queued?.info.pod.metadata.name;
const fit = new Set(['NodeResourcesFit']);
const freed = (from: Pod): Parameters<SchedulingQueue['wake']>[0] => ({
  resource: 'Pod',
  actions: ['Delete'],
  before: from,
});
const big = bound(buildPod('big', { requests: { cpu: '1' } }), 'a');

describe('the queue', () => {
  it('returns pods by priority, then by waiting time', async () => {
    const { clock, queue } = createQueue();
    for (const [each, priority] of [
      ['a', 0],
      ['b', 0],
      ['c', 5],
      ['d', -1],
    ] as const) {
      queue.add(buildPod(each, { spec: { priority } }));
      await clock.advance(1);
    }
    assert.deepEqual([queue.pop(), queue.pop(), queue.pop(), queue.pop(), queue.pop()].map(name), [
      'c',
      'a',
      'b',
      'd',
      undefined,
    ]);
  });

  it('doubles the back-off up to a limit, and counts errors separately', () => {
    const limits = { initialBackoffMs: 1000, maxBackoffMs: 10_000 };
    const until = (rejections: number, errors: number): number =>
      computeBackoffUntil({ queuedAtMs: 0, rejections, errors }, limits);
    assert.deepEqual(
      [1, 2, 3, 4, 5, 500].map((count) => until(count, 0)),
      [1000, 2000, 4000, 8000, 10_000, 10_000],
    );
    assert.deepEqual([until(0, 0), until(4, 1)], [-Infinity, 1000]);
  });

  it('keeps rejected pods until an event that the rejecting plugins wait for', () => {
    const { queue, woken } = createQueue();
    queue.add(buildPod('x', { requests: { cpu: '1' } }));
    const queued = queue.pop();
    assert.ok(queued !== undefined);
    queue.putBackRejected(queued, fit);
    const before = woken();
    queue.wake({ resource: 'Pod', actions: ['Add'], after: big });
    queue.wake({ resource: 'Node', actions: ['UpdateNodeLabel'], before: buildNode('a'), after: buildNode('a') });
    queue.wake(freed({ ...big, spec: { ...big.spec, nodeName: '' } }));
    assert.deepEqual([queue.pop(), woken()], [undefined, before]);
    queue.wake(freed(big));
    assert.equal(name(queue.pop()), 'x');
  });

  it('lets other pods go first after a failed attempt, but is never idle while pods wait', async () => {
    const { clock, queue } = createQueue();
    queue.add(buildPod('x', { spec: { priority: 10 } }));
    const queued = queue.pop();
    assert.ok(queued !== undefined);
    queue.putBackRejected(queued, fit);
    queue.wake(freed(big));
    queue.add(buildPod('y'));
    assert.deepEqual(
      [queue.counts.backoff, name(queue.pop()), name(queue.pop()), queue.pop()],
      [1, 'y', 'x', undefined],
    );
    queue.putBackRejected(queued, fit);
    queue.wake(freed(big));
    queue.add(buildPod('z'));
    await clock.advance(3000);
    assert.deepEqual([name(queue.pop()), name(queue.pop())], ['x', 'z']);
  });

  it('waits for the back-off after errors, even if no other pod waits', async () => {
    const { clock, queue } = createQueue();
    queue.add(buildPod('x'));
    const queued = queue.pop();
    assert.ok(queued !== undefined);
    queue.putBackFailed(queued);
    assert.equal(queue.pop(), undefined);
    await clock.advance(2000);
    assert.equal(name(queue.pop()), 'x');
    assert.equal(clock.armedTimers, 0);
  });

  it('retries a pod after five minutes if no event helped it', async () => {
    const { clock, queue } = createQueue();
    queue.add(buildPod('x'));
    const queued = queue.pop();
    assert.ok(queued !== undefined);
    queue.putBackRejected(queued, fit);
    await clock.advance(LEFTOVER_MS - 1);
    assert.equal(queue.pop(), undefined);
    await clock.advance(1);
    assert.equal(name(queue.pop()), 'x');
    await clock.advance(LEFTOVER_MS);
    assert.equal(clock.armedTimers, 0);
  });

  it('updates a pod in each of its queues, and drops deleted pods', () => {
    const { queue } = createQueue();
    const pod = buildPod('x', { requests: { cpu: '9' } });
    const smaller = buildPod('x', { requests: { cpu: '1' } });
    queue.add(pod);
    queue.update(pod, smaller);
    const queued = queue.pop();
    assert.equal(queued?.info.pod, smaller);
    queue.putBackRejected({ ...queued, info: queued.info }, fit);
    const tiny = buildPod('x', { requests: { cpu: '500m' } });
    queue.update(smaller, tiny);
    assert.equal(queue.pop()?.info.pod, tiny);
    queue.add(tiny);
    queue.delete('uid-x');
    assert.deepEqual([queue.pop(), queue.find('uid-x')], [undefined, undefined]);
  });
});

describe('the queue under random events', () => {
  it('holds each pod in one place, and offers each event to all pods that it may help', () => {
    const rejectorsArb = fc.constantFrom(
      ['NodeResourcesFit'],
      ['TaintToleration'],
      ['NodeResourcesFit', 'NodePorts'],
      ['NodeName'],
    );
    const step = fc.oneof(
      fc.record({ kind: fc.constant('add' as const), index: fc.nat(4), gated: fc.boolean() }),
      fc.record({ kind: fc.constant('delete' as const), index: fc.nat(4) }),
      fc.record({ kind: fc.constant('reject' as const), rejectors: rejectorsArb }),
      fc.record({ kind: fc.constant('fail' as const) }),
      fc.record({ kind: fc.constant('ungate' as const), index: fc.nat(4) }),
      fc.record({ kind: fc.constant('pass' as const), ms: fc.nat(5000) }),
      fc.record({ kind: fc.constant('nodeAdded' as const) }),
    );
    fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const { clock, queue } = createQueue();
        const pods = new Map<number, Pod>();
        for (const each of steps) {
          if (each.kind === 'add' && !pods.has(each.index)) {
            const pod = buildPod(`p${each.index}`, {
              hostPorts: [80],
              requests: { cpu: '1' },
              spec: { schedulingGates: each.gated ? [{ name: 'g' }] : [] },
            });
            pods.set(each.index, pod);
            queue.add(pod);
          } else if (each.kind === 'delete') {
            pods.delete(each.index);
            queue.delete(`uid-p${each.index}`);
          } else if (each.kind === 'reject' || each.kind === 'fail') {
            const queued = queue.pop();
            if (queued !== undefined && each.kind === 'reject') queue.putBackRejected(queued, new Set(each.rejectors));
            else if (queued !== undefined) queue.putBackFailed(queued);
          } else if (each.kind === 'ungate') {
            const before = pods.get(each.index);
            if (before === undefined) continue;
            const after = { ...before, spec: { ...before.spec, schedulingGates: [] } };
            pods.set(each.index, after);
            queue.update(before, after);
          } else if (each.kind === 'pass') await clock.advance(each.ms);
          else if (each.kind === 'nodeAdded') {
            queue.wake({ resource: 'Node', actions: ['Add'], after: buildNode('n') });
            assert.equal(queue.counts.unschedulable, 0);
          }
          const { active, backoff, unschedulable, gated } = queue.counts;
          assert.equal(active + backoff + unschedulable + gated, pods.size);
          assert.equal(gated, [...pods.values()].filter(({ spec }) => (spec.schedulingGates ?? []).length > 0).length);
        }
        queue.stop();
        assert.equal(clock.armedTimers, 0);
      }),
    );
  });
});

describe('the heap', () => {
  it('returns its elements in order after random changes', () => {
    const step = fc.oneof(
      fc.record({ key: fc.integer({ min: 0, max: 20 }), value: fc.integer() }),
      fc.record({ remove: fc.integer({ min: 0, max: 20 }) }),
    );
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const heap = new KeyedHeap<{ key: string; value: number }>(
          ({ key }) => key,
          (left, right) => left.value < right.value,
        );
        const model = new Map<string, number>();
        for (const each of steps) {
          if ('remove' in each) {
            assert.equal(heap.delete(String(each.remove))?.value, model.get(String(each.remove)));
            model.delete(String(each.remove));
          } else {
            heap.put({ key: String(each.key), value: each.value });
            model.set(String(each.key), each.value);
          }
        }
        const given: number[] = [];
        for (let item = heap.pop(); item !== undefined; item = heap.pop()) given.push(item.value);
        assert.deepEqual(
          given,
          [...model.values()].sort((left, right) => left - right),
        );
      }),
    );
  });
});
