import { withCondition } from '../../../api/conditions.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodDisruptionBudget, PodDisruptionBudgetStatus } from '../../../api/policy/pod-disruption-budget.ts';
import { parseTime } from '../../../api/time.ts';
import { isTerminalPhase } from '../../../api/pod.ts';
import { DISRUPTION_TARGET } from '../../../api/reasons.ts';
import { scaledValue } from '../../controller-runtime/int-or-percent.ts';
import { isPodReady } from '../../controller-runtime/pod-facts.ts';

/**
 * A pod whose eviction was granted is expected to be deleted within so long; else it counts again (upstream:
 * DeletionTimeout).
 */
const DELETION_TIMEOUT_MS = 120_000;
const ALLOWED = 'DisruptionAllowed';

/** How many pods the budget reckons with: those its controllers want, or simply those there are. */
export function needsScale({ spec }: PodDisruptionBudget): boolean {
  return spec.maxUnavailable !== undefined || typeof spec.minAvailable === 'string';
}

export interface ExpectedPods {
  readonly expectedPods: number;
  readonly desiredHealthy: number;
}

/**
 * `scale` is what the pods' controllers want in all; it is not used where the budget is a plain number (upstream:
 * getExpectedPodCount).
 */
export function computeExpected({ spec }: PodDisruptionBudget, podCount: number, scale: number): ExpectedPods {
  if (spec.maxUnavailable !== undefined)
    return { expectedPods: scale, desiredHealthy: Math.max(0, scale - scaledValue(spec.maxUnavailable, scale, 'up')) };
  if (spec.minAvailable === undefined) return { expectedPods: 0, desiredHealthy: 0 };
  if (typeof spec.minAvailable === 'number') return { expectedPods: podCount, desiredHealthy: spec.minAvailable };
  return { expectedPods: scale, desiredHealthy: scaledValue(spec.minAvailable, scale, 'up') };
}

export interface Disrupted {
  /** Those whose deletion is still awaited. */
  readonly pods: Readonly<Record<string, string>>;
  /** Those that should have been deleted by now, and were not. */
  readonly notDeleted: readonly Pod[];
  /** Milliseconds until the next of them is late. */
  readonly nextMs: number | undefined;
}

/**
 * What is left of the evictions that were granted: pods that are gone or going need no place of their own any more
 * (upstream: buildDisruptedPodMap).
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

export function countHealthy(pods: readonly Pod[], disrupted: Readonly<Record<string, string>>): number {
  return pods.filter(
    (pod) =>
      pod.metadata.deletionTimestamp === undefined && !Object.hasOwn(disrupted, pod.metadata.name) && isPodReady(pod),
  ).length;
}

export interface BudgetFacts extends ExpectedPods {
  readonly currentHealthy: number;
  readonly disruptedPods: Readonly<Record<string, string>>;
}

/** The status with these numbers. A budget that expects no pods allows nothing: its first ones may be just coming. */
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

/** What is said when the numbers cannot be known: nothing may be evicted then (upstream: failSafe). */
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

/** A kubelet may take its time after it has said that it ends a pod. */
const BY_KUBELET = 'TerminationByKubelet';
/** Upstream: stalePodDisruptionTimeout. */
const STALE_AFTER_MS = 120_000;

/**
 * In how many milliseconds the pod's word that it is about to be disrupted is stale, because the pod is not being
 * deleted; undefined when it has not said so.
 */
export function staleDisruptionMs({ metadata, status }: Pod, nowMs: number): number | undefined {
  if (metadata.deletionTimestamp !== undefined || isTerminalPhase(status?.phase)) return undefined;
  const said = status?.conditions?.find(({ type }) => type === DISRUPTION_TARGET);
  if (said?.status !== 'True' || said.reason === BY_KUBELET) return undefined;
  return Math.max(0, (parseTime(said.lastTransitionTime) ?? 0) + STALE_AFTER_MS - nowMs);
}

/** A selector as Go prints it, for a message that has it so. */
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
