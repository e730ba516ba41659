import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import type { PodDisruptionBudget } from '../../../api/policy/pod-disruption-budget.ts';
import { computeBudgetStatus, computeExpected, formatSelector } from './budget-status.ts';

const budget = (spec: PodDisruptionBudget['spec']): PodDisruptionBudget => ({
  metadata: { name: 'b', namespace: 'default', uid: 'b', generation: 3 },
  spec,
});

it('reckons with what there is or what is wanted, as the budget is written', () => {
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

it('never allows more than what keeps the wanted number healthy, and nothing where no pods are expected', () => {
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

it('the time of the condition is that of its last change', () => {
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
