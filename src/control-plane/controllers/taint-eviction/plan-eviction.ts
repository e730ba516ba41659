import type { Node, Taint } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { Toleration } from '../../../api/core/scheduling.ts';
import { tolerates } from '../../../api/node-selection.ts';
import { parseTime } from '../../../api/time.ts';

/** Returns the NoExecute taints of the node. */
export function evictingTaints(node: Node | undefined): readonly Taint[] {
  return (node?.spec?.taints ?? []).filter(({ effect }) => effect === 'NoExecute');
}

export type EvictionPlan =
  /** The node has no such taints, or the pod tolerates them forever. */
  | { readonly kind: 'stay' }
  /** The pod is evicted immediately, whatever its toleration time. */
  | { readonly kind: 'leave' }
  | { readonly kind: 'leaveAfter'; readonly stayMs: number };

/**
 * Computes how long a pod tolerates these taints. The first matching toleration of each taint counts (upstream:
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
 * Returns for how long the pod has tolerated the taints when they are first seen. If the taints have a time, a restart
 * of the controller does not extend the toleration. For a pod that was bound later, the time starts then.
 */
export function stoodForMs(pod: Pod, taints: readonly Taint[], nowMs: number): number {
  const addedMs = Math.min(...taints.map(({ timeAdded }) => parseTime(timeAdded) ?? nowMs));
  const scheduled = pod.status?.conditions?.find(({ type, status }) => type === 'PodScheduled' && status === 'True');
  const cameMs = parseTime(scheduled?.lastTransitionTime) ?? parseTime(pod.metadata.creationTimestamp) ?? nowMs;
  return Math.max(0, nowMs - Math.max(addedMs, cameMs));
}

/** Whether two lists of taints evict the same pods. */
export function sameTaints(left: readonly Taint[], right: readonly Taint[]): boolean {
  return (
    left.length === right.length &&
    left.every(({ key, value }, index) => key === right[index]?.key && (value ?? '') === (right[index].value ?? ''))
  );
}
