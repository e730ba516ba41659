import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { HPAScalingRules } from '../../../api/autoscaling/horizontal-pod-autoscaler.ts';
import { limitReplicas } from './limit-replicas.ts';
import type { LimitFacts } from './limit-replicas.ts';
import { firstHistory, withScaleChange } from './scaling-history.ts';

const SECOND_MS = 1_000;
const facts: LimitFacts = {
  currentReplicas: 5,
  wantedReplicas: 5,
  minReplicas: 1,
  maxReplicas: 100,
  behavior: undefined,
  downscaleWindowMs: 300 * SECOND_MS,
  history: { recommendations: [], added: [], removed: [] },
  nowMs: 1_000_000,
};
const limitOf = (more: Partial<LimitFacts>): [number, string, string] => {
  const { replicas, ableToScale, scalingLimited } = limitReplicas({ ...facts, ...more });
  return [replicas, ableToScale.reason, `${scalingLimited.reason} ${scalingLimited.isLimited}`];
};

it('without rules, the number at most doubles or becomes four, and falls to the maximum of the last five minutes', () => {
  assert.deepEqual(limitOf({}), [5, 'ReadyForNewScale', 'DesiredWithinRange false']);
  assert.deepEqual(limitOf({ wantedReplicas: 30 }), [10, 'ReadyForNewScale', 'ScaleUpLimit true']);
  assert.deepEqual(limitOf({ wantedReplicas: 30, currentReplicas: 1 }), [4, 'ReadyForNewScale', 'ScaleUpLimit true']);
  assert.deepEqual(limitOf({ wantedReplicas: 9, maxReplicas: 8 }), [8, 'ReadyForNewScale', 'TooManyReplicas true']);
  assert.deepEqual(limitOf({ wantedReplicas: 1, minReplicas: 3 }), [3, 'ReadyForNewScale', 'TooFewReplicas true']);
  const recommendations = [
    { replicas: 50, atMs: facts.nowMs - 300 * SECOND_MS - 1 },
    { replicas: 4, atMs: facts.nowMs - 300 * SECOND_MS },
  ];
  const history = { ...facts.history, recommendations };
  assert.deepEqual(limitOf({ wantedReplicas: 1, history }), [4, 'ScaleDownStabilized', 'DesiredWithinRange false']);
});

it('rules limit the number by their windows and policies, in both directions', () => {
  const up: HPAScalingRules = { selectPolicy: 'Max', policies: [{ type: 'Pods', value: 2, periodSeconds: 60 }] };
  const down: HPAScalingRules = {
    stabilizationWindowSeconds: 0,
    selectPolicy: 'Max',
    policies: [
      { type: 'Pods', value: 1, periodSeconds: 60 },
      { type: 'Percent', value: 40, periodSeconds: 60 },
    ],
  };
  const behavior = { scaleUp: { stabilizationWindowSeconds: 0, ...up }, scaleDown: down };
  assert.deepEqual(limitOf({ behavior, wantedReplicas: 20 }), [7, 'ReadyForNewScale', 'ScaleUpLimit true']);
  assert.deepEqual(limitOf({ behavior, wantedReplicas: 1 }), [3, 'ReadyForNewScale', 'ScaleDownLimit true']);
  const least = { ...behavior, scaleDown: { ...down, selectPolicy: 'Min' as const } };
  assert.deepEqual(limitOf({ behavior: least, wantedReplicas: 1 }), [4, 'ReadyForNewScale', 'ScaleDownLimit true']);
  const off = { ...behavior, scaleDown: { ...down, selectPolicy: 'Disabled' as const } };
  assert.deepEqual(limitOf({ behavior: off, wantedReplicas: 1 }), [5, 'ReadyForNewScale', 'ScaleDownLimit true']);
  const change = { from: 4, to: 5, atMs: facts.nowMs - 59 * SECOND_MS };
  const history = withScaleChange(facts.history, change, 1_800 * SECOND_MS);
  assert.deepEqual(limitOf({ behavior, history, wantedReplicas: 20 }), [6, 'ReadyForNewScale', 'ScaleUpLimit true']);
  const slow = { ...behavior, scaleUp: { ...up, stabilizationWindowSeconds: 60 } };
  assert.deepEqual(limitOf({ behavior: slow, wantedReplicas: 9, history: firstHistory(5, facts.nowMs - 1) }), [
    5,
    'ScaleUpStabilized',
    'DesiredWithinRange false',
  ]);
});

it('at a bound exactly, nothing is limited', () => {
  assert.deepEqual(limitOf({ wantedReplicas: 10 }), [10, 'ReadyForNewScale', 'DesiredWithinRange false']);
  assert.deepEqual(limitOf({ wantedReplicas: 3, minReplicas: 3 }), [3, 'ReadyForNewScale', 'DesiredWithinRange false']);
  assert.deepEqual(limitOf({ wantedReplicas: 30, maxReplicas: 10 }), [10, 'ReadyForNewScale', 'TooManyReplicas true']);
});

describe('with rules', () => {
  const at = (value: number, more: HPAScalingRules = {}): HPAScalingRules => ({
    ...{ stabilizationWindowSeconds: 0, selectPolicy: 'Max', policies: [{ type: 'Pods', value, periodSeconds: 60 }] },
    ...more,
  });
  const ruled = (more: Partial<LimitFacts>, scaleUp = at(2), scaleDown = at(2)): [number, string, string] =>
    limitOf({ behavior: { scaleUp, scaleDown }, ...more });

  it('the limit that is reached first gives the reason', () => {
    assert.deepEqual(ruled({ wantedReplicas: 20, maxReplicas: 6 }), [6, 'ReadyForNewScale', 'TooManyReplicas true']);
    assert.deepEqual(ruled({ wantedReplicas: 20, maxReplicas: 7 }), [7, 'ReadyForNewScale', 'TooManyReplicas true']);
    assert.deepEqual(ruled({ wantedReplicas: 20, maxReplicas: 8 }), [7, 'ReadyForNewScale', 'ScaleUpLimit true']);
    assert.deepEqual(ruled({ wantedReplicas: 1, minReplicas: 4 }), [4, 'ReadyForNewScale', 'TooFewReplicas true']);
    assert.deepEqual(ruled({ wantedReplicas: 1, minReplicas: 3 }), [3, 'ReadyForNewScale', 'TooFewReplicas true']);
    assert.deepEqual(ruled({ wantedReplicas: 1, minReplicas: 2 }), [3, 'ReadyForNewScale', 'ScaleDownLimit true']);
  });

  it('at a bound exactly, nothing is limited', () => {
    for (const wantedReplicas of [3, 5, 7])
      assert.deepEqual(ruled({ wantedReplicas }), [wantedReplicas, 'ReadyForNewScale', 'DesiredWithinRange false']);
    assert.deepEqual(ruled({}, at(0), at(0)), [5, 'ReadyForNewScale', 'DesiredWithinRange false']);
  });

  it('only one direction may have rules', () => {
    const history = firstHistory(5, facts.nowMs - 1);
    assert.deepEqual(limitOf({ behavior: { scaleDown: at(2) }, wantedReplicas: 4, history }), [
      4,
      'ReadyForNewScale',
      'DesiredWithinRange false',
    ]);
    assert.deepEqual(limitOf({ behavior: { scaleUp: at(2) }, wantedReplicas: 4, history }), [
      5,
      'ScaleDownStabilized',
      'DesiredWithinRange false',
    ]);
  });

  it('reports which window limited the number', () => {
    const slow = { stabilizationWindowSeconds: 60 };
    const history = firstHistory(5, facts.nowMs - 1);
    assert.deepEqual(ruled({ wantedReplicas: 6, history }, at(2, slow)), [
      5,
      'ScaleUpStabilized',
      'DesiredWithinRange false',
    ]);
    assert.deepEqual(ruled({ wantedReplicas: 4, history }, at(2), at(2, slow)), [
      5,
      'ScaleDownStabilized',
      'DesiredWithinRange false',
    ]);
    const higher = firstHistory(6, facts.nowMs - 1);
    assert.deepEqual(ruled({ wantedReplicas: 5, currentReplicas: 6, history: higher }, at(2), at(2, slow)), [
      6,
      'ScaleDownStabilized',
      'DesiredWithinRange false',
    ]);
  });
});

/** The complete history in order. */
interface Log {
  readonly wanted: { readonly atMs: number; readonly replicas: number }[];
  readonly changes: { readonly atMs: number; readonly by: number }[];
}

/** Computes the limits in the simplest way, from the complete history. */
function naively(
  log: Log,
  { currentReplicas, wantedReplicas, minReplicas, maxReplicas, behavior, nowMs }: LimitFacts,
): number {
  const { scaleUp = {}, scaleDown = {} } = behavior ?? {};
  const upSeconds = scaleUp.stabilizationWindowSeconds ?? 0;
  const downSeconds = scaleDown.stabilizationWindowSeconds ?? 300;
  const since = (seconds: number): number[] =>
    [...log.wanted, { atMs: nowMs + 1, replicas: wantedReplicas }]
      .filter(({ atMs }) => atMs > nowMs - seconds * SECOND_MS)
      .map(({ replicas }) => replicas);
  let replicas = currentReplicas;
  if (replicas < Math.min(...since(upSeconds))) replicas = Math.min(...since(upSeconds));
  if (replicas > Math.max(...since(downSeconds))) replicas = Math.max(...since(downSeconds));
  if (replicas === currentReplicas) return replicas;
  const isUp = replicas > currentReplicas;
  const { policies = [], selectPolicy } = isUp ? scaleUp : scaleDown;
  const reached = policies.map(({ type, value, periodSeconds }) => {
    const start = log.changes
      .filter(({ atMs }) => atMs > nowMs - periodSeconds * SECOND_MS)
      .reduce((count, { by }) => count - by, currentReplicas);
    if (type === 'Pods') return isUp ? start + value : start - value;
    return isUp ? Math.ceil(start * (1 + value / 100)) : Math.trunc(start * (1 - value / 100));
  });
  const byChange = reached.toSorted((left, right) => (isUp ? right - left : left - right));
  const allowed =
    selectPolicy === 'Disabled'
      ? currentReplicas
      : ((selectPolicy === 'Min' ? byChange.at(-1) : byChange[0]) ?? currentReplicas);
  return isUp
    ? Math.min(replicas, maxReplicas, Math.max(allowed, currentReplicas))
    : Math.max(replicas, minReplicas, Math.min(allowed, currentReplicas));
}

const rules = fc.record({
  stabilizationWindowSeconds: fc.integer({ min: 0, max: 200 }),
  selectPolicy: fc.constantFrom('Max' as const, 'Min' as const, 'Disabled' as const),
  policies: fc.array(
    fc.record({
      type: fc.constantFrom('Pods' as const, 'Percent' as const),
      value: fc.integer({ min: 1, max: 150 }),
      periodSeconds: fc.integer({ min: 1, max: 120 }),
    }),
    { minLength: 1, maxLength: 3 },
  ),
});

it('the limits equal those computed from the full history, although old events are dropped', () =>
  fc.assert(
    fc.property(
      fc.record({ scaleUp: rules, scaleDown: rules }),
      fc.array(fc.tuple(fc.integer({ min: 1, max: 90 }), fc.integer({ min: 0, max: 60 })), { maxLength: 40 }),
      (behavior, steps) => {
        let state: LimitFacts = {
          ...facts,
          behavior,
          minReplicas: 2,
          maxReplicas: 40,
          history: firstHistory(5, facts.nowMs),
        };
        const log: Log = { wanted: [{ atMs: facts.nowMs, replicas: 5 }], changes: [] };
        for (const [seconds, wantedReplicas] of steps) {
          state = { ...state, nowMs: state.nowMs + seconds * SECOND_MS, wantedReplicas };
          const limited = limitReplicas(state);
          assert.equal(limited.replicas, naively(log, state));
          assert.ok(limited.replicas >= 2 && limited.replicas <= 40);
          log.wanted.push({ atMs: state.nowMs, replicas: wantedReplicas });
          const [from, to] = [state.currentReplicas, limited.replicas];
          if (from !== to) log.changes.push({ atMs: state.nowMs, by: to - from });
          const history =
            from === to
              ? limited.history
              : withScaleChange(limited.history, { from, to, atMs: state.nowMs }, 120 * SECOND_MS);
          state = { ...state, currentReplicas: to, history };
        }
        assert.ok(state.history.recommendations.every(({ atMs }) => atMs >= state.nowMs - 200 * SECOND_MS));
      },
    ),
    { numRuns: 200 },
  ));
