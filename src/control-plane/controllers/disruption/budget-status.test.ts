import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { PodDisruptionBudget } from '../../../api/policy/pod-disruption-budget.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import {
  computeBudgetStatus,
  computeExpected,
  countHealthy,
  failedBudgetStatus,
  formatSelector,
  needsScale,
  selectDisrupted,
  staleDisruptionMs,
} from './budget-status.ts';

const budget = (spec: PodDisruptionBudget['spec']): PodDisruptionBudget => ({
  metadata: { name: 'b', namespace: 'default', uid: 'b', generation: 3 },
  spec,
});

it('uses the number of existing or of expected pods, depending on the budget', () => {
  const cases: readonly [PodDisruptionBudget['spec'], number, number][] = [
    [{ minAvailable: 2 }, 7, 2],
    [{ minAvailable: '50%' }, 5, 3],
    [{ minAvailable: '0%' }, 5, 0],
    [{ minAvailable: '100%' }, 5, 5],
    [{ maxUnavailable: 1 }, 5, 4],
    [{ maxUnavailable: 9 }, 5, 0],
    [{ maxUnavailable: '30%' }, 5, 3],
    [{}, 0, 0],
  ];
  assert.deepEqual(
    cases.map(([spec]) => computeExpected(budget(spec), 7, 5)),
    cases.map(([, expectedPods, desiredHealthy]) => ({ expectedPods, desiredHealthy })),
  );
});

it('never allows more disruptions than keep the desired number healthy, and none without expected pods', () => {
  const amount = fc.oneof(
    fc.nat(20),
    fc.integer({ min: 0, max: 100 }).map((percent) => `${percent}%`),
  );
  const spec = fc.oneof(
    amount.map((minAvailable) => ({ minAvailable })),
    amount.map((maxUnavailable) => ({ maxUnavailable })),
  );
  fc.assert(
    fc.property(spec, fc.nat(30), fc.nat(30), fc.nat(30), (each, podCount, scale, currentHealthy) => {
      const expected = computeExpected(budget(each), podCount, scale);
      const { disruptionsAllowed, conditions } = computeBudgetStatus(
        budget(each),
        { ...expected, currentHealthy, disruptedPods: {} },
        0,
      );
      assert.ok(
        disruptionsAllowed >= 0 &&
          (disruptionsAllowed === 0 || currentHealthy - disruptionsAllowed >= expected.desiredHealthy),
      );
      if (expected.expectedPods === 0) assert.equal(disruptionsAllowed, 0);
      assert.deepEqual(
        conditions?.map(({ status, reason }) => [status, reason]),
        [disruptionsAllowed > 0 ? ['True', 'SufficientPods'] : ['False', 'InsufficientPods']],
      );
    }),
  );
});

it('the condition has the time of its last change', () => {
  const first = computeBudgetStatus(
    budget({ minAvailable: 1 }),
    { expectedPods: 2, desiredHealthy: 1, currentHealthy: 2, disruptedPods: {} },
    0,
  );
  const again = { ...budget({ minAvailable: 1 }), status: first };
  const time = (currentHealthy: number): string | undefined =>
    computeBudgetStatus(again, { expectedPods: 2, desiredHealthy: 1, currentHealthy, disruptedPods: {} }, 5_000)
      .conditions?.[0]?.lastTransitionTime;
  assert.deepEqual([time(3), time(1)], ['1970-01-01T00:00:00Z', '1970-01-01T00:00:05Z']);
});

it('prints selectors as Go does', () => {
  assert.equal(
    formatSelector(budget({ selector: { matchLabels: { b: '2', a: '1' } } })),
    '&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:[]LabelSelectorRequirement{},}',
  );
  const matchExpressions = [{ key: 'x', operator: 'In' as const, values: ['1', '2'] }];
  assert.equal(
    formatSelector(budget({ selector: { matchExpressions } })),
    '&LabelSelector{MatchLabels:map[string]string{},MatchExpressions:[]LabelSelectorRequirement{LabelSelectorRequirement{Key:x,Operator:In,Values:[1 2],},},}',
  );
});

const NOW_MS = Date.parse('2026-01-01T01:00:00Z');
const before = (ms: number): string => new Date(NOW_MS - ms).toISOString().replace('.000', '');
const pod = (name: string, changes: Record<string, unknown> = {}): Pod =>
  buildPod({ 'metadata.name': name, 'metadata.uid': name, ...changes });
const leaving = { 'metadata.deletionTimestamp': before(0) };
const ready = (status: string): Record<string, unknown> => ({ 'status.conditions': [{ type: 'Ready', status }] });

it("reads the scale of the pods' controllers, unless minAvailable is a number", () => {
  const specs = [{ minAvailable: 1 }, { minAvailable: '1%' }, { maxUnavailable: 1 }, { maxUnavailable: '1%' }, {}];
  assert.deepEqual(
    specs.map((spec) => needsScale(budget(spec))),
    [false, true, true, true, false],
  );
});

describe('granted evictions', () => {
  const granted = (disruptedPods: Record<string, string>): PodDisruptionBudget => ({
    ...budget({ minAvailable: 1 }),
    status: { currentHealthy: 0, desiredHealthy: 0, expectedPods: 0, disruptionsAllowed: 0, disruptedPods },
  });

  it('count for two minutes, while the pod exists and is not being deleted', () => {
    const times = { new: before(0), old: before(119_000), late: before(120_000), gone: before(0), going: before(0) };
    const pods = [pod('new'), pod('old'), pod('late'), pod('going', leaving), pod('other')];
    const { pods: awaited, notDeleted, nextMs } = selectDisrupted(granted(times), pods, NOW_MS);
    assert.deepEqual(awaited, { new: times.new, old: times.old });
    assert.deepEqual(
      notDeleted.map(({ metadata }) => metadata.name),
      ['late'],
    );
    assert.equal(nextMs, 1000);
  });

  it('expire at once if their time is unreadable, and are empty without a status', () => {
    const { notDeleted, nextMs } = selectDisrupted(granted({ a: 'never' }), [pod('a')], NOW_MS);
    assert.deepEqual([notDeleted.length, nextMs], [1, undefined]);
    const none = selectDisrupted(budget({}), [pod('a'), pod('constructor')], NOW_MS);
    assert.deepEqual(none, { pods: {}, notDeleted: [], nextMs: undefined });
  });

  it('remove their pods from the healthy ones, as a deletion does', () => {
    const pods = [
      ...[pod('a', ready('True')), pod('b', ready('True')), pod('unready', ready('False')), pod('unknown')],
      pod('going', { ...ready('True'), ...leaving }),
    ];
    assert.equal(countHealthy(pods, {}), 2);
    assert.equal(countHealthy(pods, { b: before(0) }), 1);
  });

  it('stay in the status until they expire', () => {
    const facts = { expectedPods: 3, desiredHealthy: 1, currentHealthy: 3 };
    const status = computeBudgetStatus(budget({}), { ...facts, disruptedPods: { a: before(0) } }, NOW_MS);
    assert.deepEqual([status.disruptedPods, status.disruptionsAllowed], [{ a: before(0) }, 2]);
    assert.equal('disruptedPods' in computeBudgetStatus(budget({}), { ...facts, disruptedPods: {} }, NOW_MS), false);
    assert.equal(status.observedGeneration, 3);
    assert.equal(status.conditions?.[0]?.observedGeneration, 3);
    const { generation: _, ...metadata } = budget({}).metadata;
    const young = computeBudgetStatus({ ...budget({}), metadata }, { ...facts, disruptedPods: {} }, NOW_MS);
    assert.equal('observedGeneration' in young, false);
    assert.equal('observedGeneration' in (young.conditions?.[0] ?? {}), false);
  });
});

it('a budget with unknown numbers allows nothing, keeps the last numbers, and reports the reason', () => {
  const condition = {
    ...{ type: 'DisruptionAllowed', status: 'False', reason: 'SyncFailed', message: 'why' },
    lastTransitionTime: before(0),
  };
  const nothing = { currentHealthy: 0, desiredHealthy: 0, expectedPods: 0, disruptionsAllowed: 0 };
  assert.deepEqual(failedBudgetStatus(budget({}), 'why', NOW_MS), { ...nothing, conditions: [condition] });
  const last = { currentHealthy: 3, desiredHealthy: 1, expectedPods: 3, disruptionsAllowed: 2, observedGeneration: 2 };
  assert.deepEqual(failedBudgetStatus({ ...budget({}), status: last }, 'why', NOW_MS), {
    ...last,
    disruptionsAllowed: 0,
    conditions: [{ ...condition, observedGeneration: 2 }],
  });
});

describe('the condition DisruptionTarget', () => {
  const target = (changes: object = {}): Record<string, unknown> => ({
    'status.conditions': [
      { type: 'Ready', status: 'True' },
      { type: 'DisruptionTarget', status: 'True', lastTransitionTime: before(50_000), ...changes },
    ],
  });
  for (const [what, changes, expected] of [
    ['is stale after two minutes', target(), 70_000],
    ['is stale at once when it is older', target({ lastTransitionTime: before(500_000) }), 0],
    ['is stale at once without a time', target({ lastTransitionTime: undefined }), 0],
    ['is of no concern when it was taken back', target({ status: 'False' }), undefined],
    ['is of no concern when the kubelet gave it', target({ reason: 'TerminationByKubelet' }), undefined],
    ['is of no concern while the pod is being deleted', { ...target(), ...leaving }, undefined],
    ['is of no concern when the pod has failed', { ...target(), 'status.phase': 'Failed' }, undefined],
    ['is of no concern when the pod has succeeded', { ...target(), 'status.phase': 'Succeeded' }, undefined],
    ['is absent from most pods', ready('True'), undefined],
    ['is absent from a pod without conditions', {}, undefined],
  ] as const)
    it(what, () => assert.equal(staleDisruptionMs(pod('a', changes), NOW_MS), expected));
});

it('prints several expressions and labels, and nothing for a budget without a selector', () => {
  const exists = { key: 'x', operator: 'Exists' as const };
  assert.equal(
    formatSelector(budget({ selector: { matchExpressions: [exists, exists] } })),
    `&LabelSelector{MatchLabels:map[string]string{},MatchExpressions:[]LabelSelectorRequirement{${'LabelSelectorRequirement{Key:x,Operator:Exists,Values:[],},'.repeat(2)}},}`,
  );
  assert.equal(
    formatSelector(budget({})),
    '&LabelSelector{MatchLabels:map[string]string{},MatchExpressions:[]LabelSelectorRequirement{},}',
  );
});
