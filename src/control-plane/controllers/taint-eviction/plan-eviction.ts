import type { Node, Taint } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { Toleration } from '../../../api/core/scheduling.ts';
import { tolerates } from '../../../api/node-selection.ts';
import { parseTime } from '../../../api/time.ts';

/** The taints that make pods leave. */
export function evictingTaints(node: Node | undefined): readonly Taint[] {
  return (node?.spec?.taints ?? []).filter(({ effect }) => effect === 'NoExecute');
}

export type EvictionPlan =
  /** The node has nothing against the pod, or the pod stands it for ever. */
  | { readonly kind: 'stay' }
  /** Whatever time it has been there. */
  | { readonly kind: 'leave' }
  | { readonly kind: 'leaveAfter'; readonly stayMs: number };

/**
 * How long a pod may stay with these taints, each judged by the first toleration that speaks of it (upstream:
 * processPodOnNode, getMinTolerationTime).
 */
export function planEviction(tolerations: readonly Toleration[], taints: readonly Taint[]): EvictionPlan {
  let staySeconds = Infinity;
  for (const taint of taints) {
    const used = tolerations.find((toleration) => tolerates(toleration, taint, false));
    if (used === undefined) return { kind: 'leave' };
    if (used.tolerationSeconds !== undefined) staySeconds = Math.min(staySeconds, Number(used.tolerationSeconds));
  }
  if (staySeconds === Infinity) return { kind: 'stay' };
  return staySeconds <= 0 ? { kind: 'leave' } : { kind: 'leaveAfter', stayMs: staySeconds * 1000 };
}

/**
 * For how long the pod has tolerated the taints, as far as known when they are first seen. Where the taints
 * say when they were added, a restart of the controller does not extend the time. For a pod that came later, its time
 * starts then.
 */
export function stoodForMs(pod: Pod, taints: readonly Taint[], nowMs: number): number {
  const addedMs = Math.min(...taints.map(({ timeAdded }) => parseTime(timeAdded) ?? nowMs));
  const scheduled = pod.status?.conditions?.find(({ type, status }) => type === 'PodScheduled' && status === 'True');
  const cameMs = parseTime(scheduled?.lastTransitionTime) ?? parseTime(pod.metadata.creationTimestamp) ?? nowMs;
  return Math.max(0, nowMs - Math.max(addedMs, cameMs));
}

/** Whether two lists of taints make the same pods leave. */
export function sameTaints(left: readonly Taint[], right: readonly Taint[]): boolean {
  return (
    left.length === right.length &&
    left.every(({ key, value }, index) => key === right[index]?.key && (value ?? '') === (right[index].value ?? ''))
  );
}
