import { withCondition } from '../../../api/conditions.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodDisruptionBudget, PodDisruptionBudgetStatus } from '../../../api/policy/pod-disruption-budget.ts';
import { parseTime } from '../../../api/time.ts';
import { isTerminalPhase } from '../../../api/pod.ts';
import { DISRUPTION_TARGET } from '../../../api/reasons.ts';
import { scaledValue } from '../../controller-runtime/int-or-percent.ts';
import { isPodReady } from '../../controller-runtime/pod-facts.ts';

/**
 * The time within which a pod must be deleted after its eviction was granted; otherwise it counts as healthy again
 * (upstream: DeletionTimeout).
 */
const DELETION_TIMEOUT_MS = 120_000;
const ALLOWED = 'DisruptionAllowed';

/** Whether the budget depends on the scale of the pods' controllers. */
export function needsScale({ spec }: PodDisruptionBudget): boolean {
  return spec.maxUnavailable !== undefined || typeof spec.minAvailable === 'string';
}

export interface ExpectedPods {
  readonly expectedPods: number;
  readonly desiredHealthy: number;
}

/**
 * Computes the expected number of pods. `scale` is the total scale of the pods' controllers; it is not used if the
 * budget is an absolute number (upstream: getExpectedPodCount).
 */
export function computeExpected({ spec }: PodDisruptionBudget, podCount: number, scale: number): ExpectedPods {
  if (spec.maxUnavailable !== undefined)
    return { expectedPods: scale, desiredHealthy: Math.max(0, scale - scaledValue(spec.maxUnavailable, scale, 'up')) };
  if (spec.minAvailable === undefined) return { expectedPods: 0, desiredHealthy: 0 };
  if (typeof spec.minAvailable === 'number') return { expectedPods: podCount, desiredHealthy: spec.minAvailable };
  return { expectedPods: scale, desiredHealthy: scaledValue(spec.minAvailable, scale, 'up') };
}

export interface Disrupted {
  /** The granted evictions whose deletion is still expected. */
  readonly pods: Readonly<Record<string, string>>;
  /** The pods that should have been deleted by now. */
  readonly notDeleted: readonly Pod[];
  /** The milliseconds until the next granted eviction expires. */
  readonly nextMs: number | undefined;
}

/**
 * Selects the remaining granted evictions, without pods that are deleted or terminating (upstream:
 * buildDisruptedPodMap). `pods` are those with a granted eviction; others have no effect.
 */
export function selectDisrupted({ status }: PodDisruptionBudget, pods: readonly Pod[], nowMs: number): Disrupted {
  const granted = status?.disruptedPods ?? {};
  const awaited: Record<string, string> = {};
  const notDeleted: Pod[] = [];
  let nextMs: number | undefined;
  for (const pod of pods) {
    const at = Object.hasOwn(granted, pod.metadata.name) ? granted[pod.metadata.name] : undefined;
    if (at === undefined || pod.metadata.deletionTimestamp !== undefined) continue;
    const leftMs = (parseTime(at) ?? 0) + DELETION_TIMEOUT_MS - nowMs;
    if (leftMs <= 0) notDeleted.push(pod);
    else {
      awaited[pod.metadata.name] = at;
      nextMs = Math.min(nextMs ?? Infinity, leftMs);
    }
  }
  return { pods: awaited, notDeleted, nextMs };
}

/** Whether the pod is ready and not being deleted. */
export const isHealthy = (pod: Pod): boolean => pod.metadata.deletionTimestamp === undefined && isPodReady(pod);

export function countHealthy(pods: readonly Pod[], disrupted: Readonly<Record<string, string>>): number {
  return pods.filter((pod) => !Object.hasOwn(disrupted, pod.metadata.name) && isHealthy(pod)).length;
}

export interface BudgetFacts extends ExpectedPods {
  readonly currentHealthy: number;
  readonly disruptedPods: Readonly<Record<string, string>>;
}

/**
 * Computes the status. A budget without expected pods allows no disruption, because its first pods may be about to
 * start.
 */
export function computeBudgetStatus(
  budget: PodDisruptionBudget,
  { currentHealthy, desiredHealthy, expectedPods, disruptedPods }: BudgetFacts,
  nowMs: number,
): PodDisruptionBudgetStatus {
  const disruptionsAllowed = expectedPods <= 0 ? 0 : Math.max(0, currentHealthy - desiredHealthy);
  const { generation } = budget.metadata;
  const said =
    disruptionsAllowed > 0
      ? ({ status: 'True', reason: 'SufficientPods' } as const)
      : ({ status: 'False', reason: 'InsufficientPods' } as const);
  return {
    ...(generation !== undefined && { observedGeneration: generation }),
    ...(Object.keys(disruptedPods).length > 0 && { disruptedPods: { ...disruptedPods } }),
    disruptionsAllowed,
    currentHealthy,
    desiredHealthy,
    expectedPods,
    conditions: withCondition(
      budget.status?.conditions ?? [],
      { type: ALLOWED, ...said, message: '', ...(generation !== undefined && { observedGeneration: generation }) },
      nowMs,
    ),
  };
}

/** Returns the status if the numbers cannot be computed: no disruption is allowed (upstream: failSafe). */
export function failedBudgetStatus(
  { status }: PodDisruptionBudget,
  why: string,
  nowMs: number,
): PodDisruptionBudgetStatus {
  const { observedGeneration } = status ?? {};
  const condition = {
    type: ALLOWED,
    status: 'False',
    reason: 'SyncFailed',
    message: why,
    ...(observedGeneration !== undefined && { observedGeneration }),
  } as const;
  return {
    currentHealthy: 0,
    desiredHealthy: 0,
    expectedPods: 0,
    ...status,
    disruptionsAllowed: 0,
    conditions: withCondition(status?.conditions ?? [], condition, nowMs),
  };
}

/** The reason of conditions set by a kubelet, which may delete the pod some time later. */
const BY_KUBELET = 'TerminationByKubelet';
/** The time after which the condition is stale (upstream: stalePodDisruptionTimeout). */
const STALE_AFTER_MS = 120_000;

/**
 * Returns the milliseconds until the pod's condition DisruptionTarget is stale because the pod was not deleted, or
 * undefined without the condition.
 */
export function staleDisruptionMs({ metadata, status }: Pod, nowMs: number): number | undefined {
  if (metadata.deletionTimestamp !== undefined || isTerminalPhase(status?.phase)) return undefined;
  const said = status?.conditions?.find(({ type }) => type === DISRUPTION_TARGET);
  if (said?.status !== 'True' || said.reason === BY_KUBELET) return undefined;
  return Math.max(0, (parseTime(said.lastTransitionTime) ?? 0) + STALE_AFTER_MS - nowMs);
}

/** Formats a selector as Go does, for upstream's message. */
export function formatSelector({ spec }: PodDisruptionBudget): string {
  const labels = Object.entries(spec.selector?.matchLabels ?? {}).sort(([left], [right]) => (left < right ? -1 : 1));
  const expressions = (spec.selector?.matchExpressions ?? []).map(
    ({ key, operator, values = [] }) =>
      `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(' ')}],}`,
  );
  const list =
    expressions.length === 0 ? '[]LabelSelectorRequirement{}' : `[]LabelSelectorRequirement{${expressions.join(',')},}`;
  return `&LabelSelector{MatchLabels:map[string]string{${labels.map(([key, value]) => `${key}: ${value},`).join('')}},MatchExpressions:${list},}`;
}
