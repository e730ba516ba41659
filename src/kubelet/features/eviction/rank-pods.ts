import type { Pod } from '../../../api/core/pod.ts';
import { isCriticalPod, podPriority } from '../../../api/pod.ts';
import { quantityValue } from '../../../api/quantity.ts';
import { podRequests } from '../../../api/resources.ts';
import type { EvictionSignal, StarvedResource } from './signals.ts';
import { signalFacts } from './signals.ts';

/** Returns the pod's usage of the starved resource, or undefined if it is unknown. */
export type UsageOf = (pod: Pod) => number | undefined;

export interface RankedPod {
  readonly pod: Pod;
  /** The usage. A pod that was not measured ranks first, as in upstream. */
  readonly usage: number | undefined;
  readonly request: number;
  readonly priority: number;
  /** Whether the pod is never evicted: static, mirror and critical pods. */
  readonly spared: boolean;
}

/**
 * Sorts pods in the order of their eviction (upstream: rankMemoryPressure, rankPIDPressure, rankDiskPressureFunc):
 * those above their request first, then by priority, then by the excess over the request. Pods of equal rank keep their
 * order.
 */
export function rankPods(pods: readonly Pod[], signal: EvictionSignal, usageOf: UsageOf): RankedPod[] {
  const { resource } = signalFacts[signal];
  return pods
    .map((pod) => ({
      pod,
      usage: usageOf(pod),
      request: requestOf(pod, resource),
      priority: podPriority(pod),
      spared: isCriticalPod(pod),
    }))
    .toSorted(resource === 'pids' ? comparePids : compare);
}

/**
 * Returns the request. Upstream compares inodes with the requested ephemeral storage only for the excess; no pod can
 * request inodes.
 */
function requestOf(pod: Pod, resource: StarvedResource): number {
  if (resource !== 'memory' && resource !== 'ephemeral-storage') return 0;
  return quantityValue(podRequests(pod)[resource] ?? '0');
}

function compare(left: RankedPod, right: RankedPod): number {
  if (left.usage === undefined || right.usage === undefined) return unknownFirst(left, right);
  const [overLeft, overRight] = [left.usage > left.request, right.usage > right.request];
  if (overLeft !== overRight) return overLeft ? -1 : 1;
  if (left.priority !== right.priority) return left.priority - right.priority;
  return right.usage - right.request - (left.usage - left.request);
}

function comparePids(left: RankedPod, right: RankedPod): number {
  if (left.priority !== right.priority) return left.priority - right.priority;
  if (left.usage === undefined || right.usage === undefined) return unknownFirst(left, right);
  return right.usage - left.usage;
}

function unknownFirst(left: RankedPod, right: RankedPod): number {
  return Number(left.usage !== undefined) - Number(right.usage !== undefined);
}

/**
 * Selects the pod to evict in this round, or returns undefined when every pod is spared. A pod that does not use the
 * resource would free nothing; one that was not measured is selected only when no measured one is left.
 */
export function selectVictim(ranked: readonly RankedPod[]): RankedPod | undefined {
  const candidates = ranked.filter(({ spared, usage }) => !spared && usage !== 0);
  return candidates.find(({ usage }) => usage !== undefined) ?? candidates[0];
}
