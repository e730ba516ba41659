import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerCondition,
  HorizontalPodAutoscalerSpec,
  MetricStatus,
} from '../../../api/autoscaling/horizontal-pod-autoscaler.ts';
import { withCondition } from '../../../api/conditions.ts';
import { parseQuantity } from '../../../api/quantity.ts';
import type { Tolerances } from './compute-replicas.ts';
import type { Evaluation } from './evaluate-metric.ts';
import { limitReplicas } from './limit-replicas.ts';
import type { ScalingHistory } from './scaling-history.ts';

export interface AutoscalerEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

export type Conditions = readonly HorizontalPodAutoscalerCondition[];

/** The decision about the workload. */
export interface ScalingPlan {
  readonly conditions: Conditions;
  readonly events: readonly AutoscalerEvent[];
  readonly metrics: readonly MetricStatus[];
  readonly history: ScalingHistory;
  /** Undefined: the current and the desired number stay unchanged (no metric has a value). */
  readonly desiredReplicas: number | undefined;
  readonly reason: string;
  /** The error of the pass, if it failed. */
  readonly error?: string;
}

/** The decision before any metric is read. */
export type CountDecision =
  /** The owner turned off a target with zero pods. */
  | { readonly kind: 'disabled' }
  | { readonly kind: 'outside'; readonly replicas: number; readonly reason: string }
  | { readonly kind: 'measure' };

export interface PlanSettings {
  readonly tolerance: number;
  readonly downscaleWindowMs: number;
}

export function decideByCount(
  { minReplicas = 1, maxReplicas }: HorizontalPodAutoscalerSpec,
  currentReplicas: number,
): CountDecision {
  if (currentReplicas === 0) return { kind: 'disabled' };
  if (currentReplicas > maxReplicas)
    return { kind: 'outside', replicas: maxReplicas, reason: 'Current number of replicas above Spec.MaxReplicas' };
  if (currentReplicas < minReplicas)
    return { kind: 'outside', replicas: minReplicas, reason: 'Current number of replicas below Spec.MinReplicas' };
  return { kind: 'measure' };
}

/** Returns the tolerances (upstream: tolerancesForHpa). */
export function tolerancesOf({ behavior }: HorizontalPodAutoscalerSpec, otherwise: number): Tolerances {
  const fraction = (amount: string | undefined): number =>
    amount === undefined ? otherwise : Number(parseQuantity(amount).nanos) / 1e9;
  return { up: fraction(behavior?.scaleUp?.tolerance), down: fraction(behavior?.scaleDown?.tolerance) };
}

export interface PlanFacts {
  readonly autoscaler: HorizontalPodAutoscaler;
  readonly conditions: Conditions;
  readonly currentReplicas: number;
  readonly history: ScalingHistory;
  readonly settings: PlanSettings;
  readonly nowMs: number;
}

/**
 * Plans for a workload that is switched off, or whose number of pods is outside its limits regardless of the metrics.
 */
export function planByCount(facts: PlanFacts, decision: Exclude<CountDecision, { kind: 'measure' }>): ScalingPlan {
  const { conditions, history, currentReplicas, nowMs } = facts;
  const same = { events: [], metrics: [], history };
  if (decision.kind === 'outside')
    return { ...same, conditions, desiredReplicas: decision.replicas, reason: decision.reason };
  const disabled = {
    type: 'ScalingActive' as const,
    status: 'False',
    reason: 'ScalingDisabled',
    message: 'scaling is disabled since the replica count of the target is zero',
  };
  return {
    ...same,
    conditions: withCondition(conditions, disabled, nowMs),
    desiredReplicas: currentReplicas,
    reason: '',
  };
}

/**
 * Plans by the highest proposal of a metric, within the limits. If a metric fails, the others may add pods but not
 * remove any (upstream: computeReplicasForMetrics, reconcileAutoscaler).
 */
export function planByMetrics(facts: PlanFacts, evaluations: readonly Evaluation[]): ScalingPlan {
  const { currentReplicas, history, nowMs } = facts;
  const proposed = evaluations.filter((each) => each.kind === 'proposed');
  const failed = evaluations.filter((each) => each.kind === 'failed');
  const [firstFailed] = failed;
  // Among equal proposals the first metric is reported.
  const best = proposed.reduce<(typeof proposed)[number] | undefined>(
    (highest, each) => (highest === undefined || each.replicas > highest.replicas ? each : highest),
    undefined,
  );
  const metrics = evaluations.map((each) => (each.kind === 'proposed' ? each.status : noStatus));
  const events = failed.map(({ reason, message }): AutoscalerEvent => ({ type: 'Warning', reason, message }));
  const error =
    firstFailed === undefined
      ? undefined
      : `invalid metrics (${failed.length} invalid out of ${evaluations.length}), first error is: ${firstFailed.error}`;
  if (best === undefined || (firstFailed !== undefined && best.replicas < currentReplicas)) {
    const stays = { metrics, history, desiredReplicas: undefined, reason: '' };
    const why = error ?? 'no metrics to scale by';
    return {
      ...stays,
      conditions:
        firstFailed === undefined ? facts.conditions : withCondition(facts.conditions, inactive(firstFailed), nowMs),
      events: [...events, { type: 'Warning', reason: 'FailedComputeMetricsReplicas', message: why }],
      error: why,
    };
  }
  return { ...limited(facts, best), metrics, events, ...(error !== undefined && { error }) };
}

/** Keeps the position of a metric without a value, so that the others are found by their index, as in upstream. */
const noStatus = { type: '' } as unknown as MetricStatus;

const inactive = ({ reason, message }: { readonly reason: string; readonly message: string }) => ({
  type: 'ScalingActive' as const,
  status: 'False',
  reason,
  message: `the HPA was unable to compute the replica count: ${message}`,
});

function limited(
  { autoscaler, conditions, currentReplicas, history, settings, nowMs }: PlanFacts,
  best: { readonly replicas: number; readonly name: string },
): Pick<ScalingPlan, 'conditions' | 'history' | 'desiredReplicas' | 'reason'> {
  const { minReplicas = 1, maxReplicas, behavior } = autoscaler.spec;
  const wantedReplicas = best.replicas;
  const { ableToScale, scalingLimited, ...result } = limitReplicas({
    currentReplicas,
    wantedReplicas,
    minReplicas,
    maxReplicas,
    behavior,
    downscaleWindowMs: settings.downscaleWindowMs,
    history,
    nowMs,
  });
  const found = [
    {
      type: 'ScalingActive' as const,
      status: 'True',
      reason: 'ValidMetricFound',
      message: `the HPA was able to successfully calculate a replica count from ${best.name}`,
    },
    { type: 'AbleToScale' as const, status: 'True', ...ableToScale },
    {
      type: 'ScalingLimited' as const,
      status: scalingLimited.isLimited ? 'True' : 'False',
      reason: scalingLimited.reason,
      message: scalingLimited.message,
    },
  ];
  const reason =
    wantedReplicas > currentReplicas
      ? `${best.name} above target`
      : wantedReplicas < currentReplicas
        ? 'All metrics below target'
        : '';
  return {
    conditions: found.reduce<Conditions>((list, condition) => withCondition(list, condition, nowMs), conditions),
    history: result.history,
    desiredReplicas: result.replicas,
    reason,
  };
}
