import type { Pod } from '../../../api/core/pod.ts';
import { isCriticalPod, podPriority } from '../../../api/pod.ts';
import { quantityValue } from '../../../api/quantity.ts';
import { podRequests } from '../../../api/resources.ts';
import type { EvictionSignal, StarvedResource } from './signals.ts';
import { signalFacts } from './signals.ts';

/** What a pod uses of the starved resource; undefined where that is not known. */
export type UsageOf = (pod: Pod) => number | undefined;

export interface RankedPod {
  readonly pod: Pod;
  /** undefined: not measured. Such a pod ranks first, as upstream's does. */
  readonly usage: number | undefined;
  readonly request: number;
  readonly priority: number;
  /** Static, mirror and critical pods are never evicted. */
  readonly spared: boolean;
}

/**
 * The pods in the order of their eviction (upstream: rankMemoryPressure, rankPIDPressure, rankDiskPressureFunc): those
 * above their request first, then by priority, then by how far they are above it. Pods of equal rank keep their order.
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

/** Upstream compares inodes with the requested ephemeral storage only for the excess; no pod can request inodes. */
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
 * The one pod to evict in this round; undefined when every pod is spared. A pod that uses nothing of the resource would
 * free nothing; one that could not be measured is taken only when no measured one is left.
 */
export function selectVictim(ranked: readonly RankedPod[]): RankedPod | undefined {
  const candidates = ranked.filter(({ spared, usage }) => !spared && usage !== 0);
  return candidates.find(({ usage }) => usage !== undefined) ?? candidates[0];
}
