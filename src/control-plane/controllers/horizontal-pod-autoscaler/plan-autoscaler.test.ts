import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { HorizontalPodAutoscalerSpec, MetricStatus } from '../../../api/autoscaling/horizontal-pod-autoscaler.ts';
import type { Evaluation } from './evaluate-metric.ts';
import { decideByCount, planByCount, planByMetrics, tolerancesOf } from './plan-autoscaler.ts';
import type { PlanFacts, ScalingPlan } from './plan-autoscaler.ts';

const NOW_MS = Date.parse('2026-01-01T12:00:00Z');

function facts(currentReplicas: number, more: Partial<HorizontalPodAutoscalerSpec> = {}): PlanFacts {
  return {
    autoscaler: {
      metadata: { name: 'web', namespace: 'default', uid: 'h' },
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
        minReplicas: 2,
        maxReplicas: 10,
        ...more,
      },
    },
    conditions: [],
    currentReplicas,
    history: { recommendations: [], added: [], removed: [] },
    settings: { tolerance: 0.1, downscaleWindowMs: 300_000 },
    nowMs: NOW_MS,
  };
}

const status = (name: string): MetricStatus => ({ type: 'Resource', resource: { name, current: {} } });
const proposed = (name: string, replicas: number): Evaluation => ({
  kind: 'proposed',
  name,
  replicas,
  status: status(name),
});
const failed = (name: string): Evaluation => ({
  kind: 'failed',
  reason: `Failed${name}`,
  message: `no ${name}`,
  error: `failed to get ${name}`,
});

/** Formats `6: reason`, the conditions as `Type=Status Reason`, and the reasons of events. */
function shown({ desiredReplicas, reason, conditions, events, error }: ScalingPlan): Record<string, unknown> {
  return {
    desired: `${desiredReplicas ?? '-'}: ${reason}`,
    conditions: conditions.map(({ type, status: is, reason: why }) => `${type}=${is} ${why}`),
    events: events.map(({ type, reason: why, message }) => `${type} ${why}: ${message}`),
    ...(error !== undefined && { error }),
  };
}
const conditionsOf = (active: string, able: string, limited: string): string[] => [
  `ScalingActive=${active}`,
  `AbleToScale=${able}`,
  `ScalingLimited=${limited}`,
];
const fine = conditionsOf('True ValidMetricFound', 'True ReadyForNewScale', 'False DesiredWithinRange');

describe('before any metric is read', () => {
  it('a workload with zero pods is switched off', () => {
    assert.deepEqual(decideByCount(facts(0).autoscaler.spec, 0), { kind: 'disabled' });
    assert.deepEqual(decideByCount({ ...facts(0).autoscaler.spec, minReplicas: 0 }, 0), { kind: 'disabled' });
    const plan = planByCount(facts(0), { kind: 'disabled' });
    assert.deepEqual(shown(plan), { desired: '0: ', conditions: ['ScalingActive=False ScalingDisabled'], events: [] });
    assert.equal(plan.conditions[0]?.message, 'scaling is disabled since the replica count of the target is zero');
  });

  it('a workload outside its limits is scaled to them', () => {
    const decided = (current: number, spec = facts(1).autoscaler.spec): unknown => decideByCount(spec, current);
    const above = {
      kind: 'outside',
      replicas: 10,
      reason: 'Current number of replicas above Spec.MaxReplicas',
    } as const;
    const below = {
      kind: 'outside',
      replicas: 2,
      reason: 'Current number of replicas below Spec.MinReplicas',
    } as const;
    assert.deepEqual([decided(11), decided(1)], [above, below]);
    assert.deepEqual([decided(10), decided(2)], [{ kind: 'measure' }, { kind: 'measure' }]);
    const { minReplicas: _, ...unbounded } = facts(1).autoscaler.spec;
    assert.deepEqual(decided(1, unbounded), { kind: 'measure' });
    const plan = planByCount(facts(11), above);
    assert.deepEqual(shown(plan), { desired: `10: ${above.reason}`, conditions: [], events: [] });
    assert.deepEqual(plan.metrics, []);
  });
});

it('the tolerance is that of the direction, else the general one', () => {
  const { spec } = facts(1).autoscaler;
  const behavior = { scaleUp: { tolerance: '50m' }, scaleDown: { tolerance: '0.25' } };
  assert.deepEqual(tolerancesOf(spec, 0.1), { up: 0.1, down: 0.1 });
  assert.deepEqual(tolerancesOf({ ...spec, behavior }, 0.1), { up: 0.05, down: 0.25 });
  assert.deepEqual(tolerancesOf({ ...spec, behavior: {} }, 0.1), { up: 0.1, down: 0.1 });
  assert.deepEqual(tolerancesOf({ ...spec, behavior: { scaleUp: {}, scaleDown: {} } }, 0.1), { up: 0.1, down: 0.1 });
});

describe('the number that metrics ask for', () => {
  it('is the highest of all metrics; among equals the first metric is named', () => {
    const plan = planByMetrics(facts(4), [proposed('cpu', 3), proposed('memory', 6), proposed('disk', 6)]);
    assert.deepEqual(shown(plan), { desired: '6: memory above target', conditions: fine, events: [] });
    assert.equal(plan.conditions[0]?.message, 'the HPA was able to successfully calculate a replica count from memory');
    assert.deepEqual(plan.metrics, [status('cpu'), status('memory'), status('disk')]);
    assert.deepEqual(plan.history.recommendations, [{ replicas: 6, atMs: NOW_MS }]);
  });

  it('may be lower, or the same', () => {
    assert.equal(shown(planByMetrics(facts(4), [proposed('cpu', 3)]))['desired'], '3: All metrics below target');
    assert.equal(shown(planByMetrics(facts(4), [proposed('cpu', 4)]))['desired'], '4: ');
  });

  it('is limited, and a condition tells how', () => {
    const limited = shown(planByMetrics(facts(2), [proposed('cpu', 30)]));
    assert.deepEqual(
      limited['conditions'],
      conditionsOf('True ValidMetricFound', 'True ReadyForNewScale', 'True ScaleUpLimit'),
    );
    assert.equal(limited['desired'], '4: cpu above target');
    const { minReplicas: _, ...unbounded } = facts(4).autoscaler.spec;
    const autoscaler = { ...facts(4).autoscaler, spec: unbounded };
    assert.equal(planByMetrics({ ...facts(4), autoscaler }, [proposed('cpu', 0)]).desiredReplicas, 1);
  });
});

describe('if a metric fails', () => {
  const error = 'invalid metrics (1 invalid out of 2), first error is: failed to get memory';

  it('the others may add pods', () => {
    const plan = planByMetrics(facts(4), [proposed('cpu', 6), failed('memory')]);
    assert.deepEqual(shown(plan), {
      desired: '6: cpu above target',
      conditions: fine,
      events: ['Warning Failedmemory: no memory'],
      error,
    });
    assert.equal(planByMetrics(facts(4), [proposed('cpu', 4), failed('memory')]).desiredReplicas, 4);
  });

  it('the others may not remove pods', () => {
    const plan = planByMetrics(facts(4), [proposed('cpu', 3), failed('memory')]);
    assert.deepEqual(shown(plan), {
      desired: '-: ',
      conditions: ['ScalingActive=False Failedmemory'],
      events: ['Warning Failedmemory: no memory', `Warning FailedComputeMetricsReplicas: ${error}`],
      error,
    });
    assert.equal(plan.conditions[0]?.message, 'the HPA was unable to compute the replica count: no memory');
  });

  it('it keeps its position among the metrics of the status', () => {
    const { metrics } = planByMetrics(facts(4), [failed('memory'), proposed('cpu', 6)]);
    assert.deepEqual(metrics, [{ type: '' }, status('cpu')]);
  });

  it('the first failed metric is named', () => {
    const plan = planByMetrics(facts(4), [failed('memory'), failed('cpu')]);
    assert.equal(plan.error, 'invalid metrics (2 invalid out of 2), first error is: failed to get memory');
    assert.deepEqual(shown(plan)['conditions'], ['ScalingActive=False Failedmemory']);
  });

  it('without any metrics, nothing changes', () => {
    assert.deepEqual(shown(planByMetrics(facts(4), [])), {
      desired: '-: ',
      conditions: [],
      events: ['Warning FailedComputeMetricsReplicas: no metrics to scale by'],
      error: 'no metrics to scale by',
    });
  });
});
