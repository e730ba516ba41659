import type {
  HPAScalingRules,
  HorizontalPodAutoscalerBehavior,
} from '../../../api/autoscaling/horizontal-pod-autoscaler.ts';
import { INT32_MAX } from '../../../api/validation/names.ts';
import { changeWithin, withRecommendation } from './scaling-history.ts';
import type { ScalingHistory } from './scaling-history.ts';

export interface LimitFacts {
  readonly currentReplicas: number;
  /** The number that the metrics propose. */
  readonly wantedReplicas: number;
  readonly minReplicas: number;
  readonly maxReplicas: number;
  readonly behavior: HorizontalPodAutoscalerBehavior | undefined;
  /** The default window of rules without one (upstream: --horizontal-pod-autoscaler-downscale-stabilization). */
  readonly downscaleWindowMs: number;
  readonly history: ScalingHistory;
  readonly nowMs: number;
}

export interface Limited {
  readonly replicas: number;
  /** The history, including the current proposal. */
  readonly history: ScalingHistory;
  readonly ableToScale: Reason;
  readonly scalingLimited: Reason & { readonly isLimited: boolean };
}

export interface Reason {
  readonly reason: string;
  readonly message: string;
}

const ready: Reason = { reason: 'ReadyForNewScale', message: 'recommended size matches current size' };
const downStabilized: Reason = {
  reason: 'ScaleDownStabilized',
  message: 'recent recommendations were higher than current one, applying the highest recent recommendation',
};
const upStabilized: Reason = {
  reason: 'ScaleUpStabilized',
  message: 'recent recommendations were lower than current one, applying the lowest recent recommendation',
};
const inRange: Reason = {
  reason: 'DesiredWithinRange',
  message: 'the desired count is within the acceptable range',
};
const tooFew: Reason = {
  reason: 'TooFewReplicas',
  message: 'the desired replica count is less than the minimum replica count',
};
const tooMany: Reason = {
  reason: 'TooManyReplicas',
  message: 'the desired replica count is more than the maximum replica count',
};
const tooFastUp: Reason = {
  reason: 'ScaleUpLimit',
  message: 'the desired replica count is increasing faster than the maximum scale rate',
};
const tooFastDown: Reason = {
  reason: 'ScaleDownLimit',
  message: 'the desired replica count is decreasing faster than the maximum scale rate',
};

/**
 * Limits the proposal by recent proposals (stabilization), by the rate of change, and by the minimum and maximum
 * (upstream: normalizeDesiredReplicas, normalizeDesiredReplicasWithBehaviors).
 */
export function limitReplicas(facts: LimitFacts): Limited {
  const { behavior, wantedReplicas, history, nowMs, downscaleWindowMs } = facts;
  const windows = {
    up: (behavior?.scaleUp?.stabilizationWindowSeconds ?? 0) * 1000,
    down: windowMs(behavior?.scaleDown, downscaleWindowMs),
  };
  const stable = behavior === undefined ? stabilizeDown(facts) : stabilize(facts, windows);
  const [replicas, why] = behavior === undefined ? boundByDefault(facts, stable) : bound(facts, behavior, stable);
  return {
    replicas,
    history: withRecommendation(history, { replicas: wantedReplicas, atMs: nowMs }, Math.max(windows.up, windows.down)),
    ableToScale:
      stable === wantedReplicas
        ? ready
        : behavior !== undefined && wantedReplicas >= facts.currentReplicas
          ? upStabilized
          : downStabilized,
    scalingLimited: { ...why, isLimited: replicas !== stable },
  };
}

const windowMs = (rules: HPAScalingRules | undefined, otherwiseMs: number): number =>
  rules?.stabilizationWindowSeconds === undefined ? otherwiseMs : rules.stabilizationWindowSeconds * 1000;

/** Returns the highest recommendation of the window (upstream: stabilizeRecommendation). */
function stabilizeDown({ wantedReplicas, history, nowMs, downscaleWindowMs }: LimitFacts): number {
  return history.recommendations.reduce(
    (highest, { replicas, atMs }) => (atMs >= nowMs - downscaleWindowMs ? Math.max(highest, replicas) : highest),
    wantedReplicas,
  );
}

/**
 * Moves the current number only into the range of the recommendations in each window (upstream:
 * stabilizeRecommendationWithBehaviors).
 */
function stabilize(
  { currentReplicas, wantedReplicas, history, nowMs }: LimitFacts,
  windows: { readonly up: number; readonly down: number },
): number {
  let [lowest, highest] = [wantedReplicas, wantedReplicas];
  for (const { replicas, atMs } of history.recommendations) {
    if (atMs > nowMs - windows.up) lowest = Math.min(lowest, replicas);
    if (atMs > nowMs - windows.down) highest = Math.max(highest, replicas);
  }
  return Math.min(Math.max(currentReplicas, lowest), highest);
}

/** Limits without rules: at most twice as many as now, or four (upstream: convertDesiredReplicasWithRules). */
function boundByDefault({ currentReplicas, minReplicas, maxReplicas }: LimitFacts, stable: number): [number, Reason] {
  const fastest = Math.max(2 * currentReplicas, 4);
  const most = Math.min(maxReplicas, fastest);
  if (stable < minReplicas) return [minReplicas, tooFew];
  if (stable > most) return [most, maxReplicas > fastest ? tooFastUp : tooMany];
  return [stable, inRange];
}

/** Limits by rules (upstream: convertDesiredReplicasWithBehaviorRate). */
function bound(
  facts: LimitFacts,
  { scaleUp, scaleDown }: HorizontalPodAutoscalerBehavior,
  stable: number,
): [number, Reason] {
  const { currentReplicas, minReplicas, maxReplicas } = facts;
  if (stable > currentReplicas) {
    const fastest = Math.max(currentReplicas, scaleUpLimit(facts, scaleUp));
    const most = Math.min(maxReplicas, fastest);
    if (stable > most) return [most, maxReplicas > fastest ? tooFastUp : tooMany];
  } else if (stable < currentReplicas) {
    const fastest = Math.min(currentReplicas, scaleDownLimit(facts, scaleDown));
    const fewest = Math.max(minReplicas, fastest);
    if (stable < fewest) return [fewest, minReplicas < fastest ? tooFastDown : tooFew];
  }
  return [stable, inRange];
}

/** Returns the number of pods at the start of a policy's period. */
function replicasBefore({ currentReplicas, history, nowMs }: LimitFacts, periodSeconds: number): number {
  const periodMs = periodSeconds * 1000;
  return (
    currentReplicas - changeWithin(history.added, periodMs, nowMs) + changeWithin(history.removed, periodMs, nowMs)
  );
}

/** Returns the upper limit of the rules (upstream: calculateScaleUpLimitWithScalingRules). */
function scaleUpLimit(facts: LimitFacts, { selectPolicy = 'Max', policies = [] }: HPAScalingRules = {}): number {
  if (selectPolicy === 'Disabled') return facts.currentReplicas;
  const allowed = policies.map(({ type, value, periodSeconds }) => {
    const before = replicasBefore(facts, periodSeconds);
    // It is rounded up, so that a small percentage allows at least one pod.
    return type === 'Pods' ? before + value : Math.ceil(before * (1 + value / 100));
  });
  return selectPolicy === 'Min' ? Math.min(INT32_MAX, ...allowed) : Math.max(-INT32_MAX - 1, ...allowed);
}

/** Returns the lower limit of the rules (upstream: calculateScaleDownLimitWithBehaviors). */
function scaleDownLimit(facts: LimitFacts, { selectPolicy = 'Max', policies = [] }: HPAScalingRules = {}): number {
  if (selectPolicy === 'Disabled') return facts.currentReplicas;
  const allowed = policies.map(({ type, value, periodSeconds }) => {
    const before = replicasBefore(facts, periodSeconds);
    return type === 'Pods' ? before - value : Math.trunc(before * (1 - value / 100));
  });
  return selectPolicy === 'Min' ? Math.max(-INT32_MAX - 1, ...allowed) : Math.min(INT32_MAX, ...allowed);
}
