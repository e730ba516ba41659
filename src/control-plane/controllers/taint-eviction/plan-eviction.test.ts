import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import type { Taint } from '../../../api/core/node.ts';
import type { Toleration } from '../../../api/core/scheduling.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { evictingTaints, planEviction, sameTaints, stoodForMs } from './plan-eviction.ts';

const taint = (key: string, value = ''): Taint => ({ key, effect: 'NoExecute', ...(value !== '' && { value }) });
const forSeconds = (key: string, tolerationSeconds?: number): Toleration => ({
  key,
  operator: 'Exists',
  effect: 'NoExecute',
  ...(tolerationSeconds !== undefined && { tolerationSeconds }),
});

it('an untolerated taint evicts the pod; a taint that is tolerated without a limit does not', () => {
  assert.deepEqual(planEviction([], [taint('a')]), { kind: 'leave' });
  assert.deepEqual(planEviction([], []), { kind: 'stay' });
  assert.deepEqual(planEviction([forSeconds('a')], [taint('a')]), { kind: 'stay' });
  assert.deepEqual(planEviction([{ operator: 'Exists' }], [taint('a'), taint('b')]), { kind: 'stay' });
  assert.deepEqual(planEviction([{ key: 'a', operator: 'Equal', value: 'x' }], [taint('a', 'y')]), { kind: 'leave' });
  assert.deepEqual(planEviction([{ key: 'a', operator: 'Exists', effect: 'NoSchedule' }], [taint('a')]), {
    kind: 'leave',
  });
});

it('the shortest of several toleration times counts; zero or less means no time', () => {
  assert.deepEqual(planEviction([forSeconds('a', 30), forSeconds('b', 10)], [taint('a'), taint('b')]), {
    kind: 'leaveAfter',
    stayMs: 10_000,
  });
  assert.deepEqual(planEviction([forSeconds('a', 30), forSeconds('b')], [taint('a'), taint('b')]), {
    kind: 'leaveAfter',
    stayMs: 30_000,
  });
  assert.deepEqual(planEviction([forSeconds('a', 0)], [taint('a')]), { kind: 'leave' });
  assert.deepEqual(planEviction([forSeconds('a', -5)], [taint('a')]), { kind: 'leave' });
  assert.deepEqual(planEviction([forSeconds('a', 30)], [taint('a'), taint('b')]), { kind: 'leave' });
});

it('an additional taint never extends the time, and an additional toleration at the end never shortens it', () => {
  const key = fc.constantFrom('a', 'b', 'c');
  const toleration = fc
    .tuple(key, fc.option(fc.integer({ min: -1, max: 100 }), { nil: undefined }))
    .map(([name, seconds]) => forSeconds(name, seconds));
  const stay = (plan: ReturnType<typeof planEviction>): number =>
    plan.kind === 'stay' ? Infinity : plan.kind === 'leave' ? 0 : plan.stayMs;
  fc.assert(
    fc.property(
      fc.array(toleration),
      fc.array(key.map((name) => taint(name))),
      key,
      toleration,
      (tolerations, taints, more, last) => {
        const before = stay(planEviction(tolerations, taints));
        assert.ok(stay(planEviction(tolerations, [...taints, taint(more)])) <= before);
        if (before > 0) assert.equal(stay(planEviction([...tolerations, last], taints)), before);
      },
    ),
  );
});

it('the time starts when the taint was added or the pod was bound, whichever is later', () => {
  const nowMs = Date.parse('2026-01-01T00:10:00Z');
  const pod = buildPod({ 'metadata.creationTimestamp': '2026-01-01T00:05:00Z' });
  const added = (timeAdded: string): Taint => ({ ...taint('a'), timeAdded });
  assert.equal(stoodForMs(pod, [added('2026-01-01T00:08:00Z')], nowMs), 120_000);
  assert.equal(stoodForMs(pod, [added('2026-01-01T00:00:00Z')], nowMs), 300_000);
  assert.equal(stoodForMs(pod, [taint('a')], nowMs), 0);
  assert.equal(stoodForMs(pod, [added('2026-01-01T00:20:00Z')], nowMs), 0);
});

it('only NoExecute taints evict pods, and an unknown node has none', () => {
  const taints: Taint[] = [taint('a'), { key: 'b', effect: 'NoSchedule' }, { key: 'c', effect: 'PreferNoSchedule' }];
  const metadata = { name: 'n', namespace: '', uid: '' };
  assert.deepEqual(evictingTaints({ metadata, spec: { taints } }), [taint('a')]);
  assert.deepEqual(
    [evictingTaints(undefined), evictingTaints({ metadata }), evictingTaints({ metadata, spec: {} })],
    [[], [], []],
  );
});

it('two lists of taints are equal if keys and values are, in order; their times do not matter', () => {
  assert.equal(sameTaints([], []), true);
  assert.equal(sameTaints([taint('a', 'x')], [{ ...taint('a', 'x'), timeAdded: '2026-01-01T00:00:00Z' }]), true);
  assert.equal(sameTaints([taint('a')], [{ ...taint('a'), value: '' }]), true);
  for (const other of [[], [taint('b')], [taint('a', 'y')], [taint('a'), taint('b')]])
    assert.equal(sameTaints([taint('a')], other), false);
  assert.equal(sameTaints([taint('a'), taint('b')], [taint('a'), taint('c')]), false);
  assert.equal(sameTaints([taint('a')], []), false);
});

it('a pod has tolerated a taint since it was bound or the taint was added', () => {
  const at = (second: number): string => new Date(second * 1000).toISOString();
  const podAt = (second: number | undefined, conditions: object[] = []) =>
    buildPod({ 'metadata.creationTimestamp': second === undefined ? undefined : at(second), status: { conditions } });
  const since = (second: number): Taint => ({ ...taint('a'), timeAdded: at(second) });
  assert.equal(stoodForMs(podAt(10), [since(5)], 60_000), 50_000);
  assert.equal(stoodForMs(podAt(10), [since(30)], 60_000), 30_000);
  assert.equal(stoodForMs(podAt(10), [since(40), since(30)], 60_000), 30_000, 'the first of them counts');
  assert.equal(stoodForMs(podAt(10), [taint('a')], 60_000), 0, 'without a time it was added now');
  const scheduled = { type: 'PodScheduled', status: 'True', lastTransitionTime: at(20) };
  assert.equal(stoodForMs(podAt(10, [scheduled]), [since(5)], 60_000), 40_000);
  const ready = { type: 'Ready', status: 'True', lastTransitionTime: at(25) };
  assert.equal(stoodForMs(podAt(10, [ready, scheduled]), [since(5)], 60_000), 40_000);
  assert.equal(stoodForMs(podAt(10, [{ ...scheduled, status: 'False' }]), [since(5)], 60_000), 50_000);
});
