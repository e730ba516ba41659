import { isConditionTrue } from '../../../api/conditions.ts';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isTerminalPod } from '../../../api/pod.ts';
import { hasOutOfServiceTaint } from '../../controller-runtime/out-of-service.ts';

/** Whether the machine is marked as permanently off, so that no kubelet will report that its pods are gone. */
export function isOutOfService(node: Node | undefined): boolean {
  const ready = isConditionTrue(node?.status?.conditions, 'Ready');
  return !ready && hasOutOfServiceTaint(node);
}

/**
 * Whether the pod is terminating without a kubelet that could confirm its end (upstream: gcUnscheduledTerminating,
 * gcTerminating).
 */
export function isLeftLeaving(pod: Pod, node: Node | undefined): boolean {
  if (pod.metadata.deletionTimestamp === undefined || isForced(pod)) return false;
  return (pod.spec.nodeName ?? '') === '' || isOutOfService(node);
}

/** Whether only finalizers keep the pod. */
export function isForced(pod: Pod): boolean {
  return (
    pod.metadata.deletionTimestamp !== undefined &&
    (pod.metadata.deletionGracePeriodSeconds ?? 0) === 0 &&
    isTerminalPod(pod)
  );
}

/**
 * Selects the surplus terminated pods: evicted ones first, then the oldest (upstream: byEvictionAndCreationTimestamp).
 */
export function selectSurplus(terminated: readonly Pod[], threshold: number): readonly Pod[] {
  if (threshold <= 0 || terminated.length <= threshold) return [];
  const rank = (pod: Pod): string =>
    `${pod.status?.phase === 'Failed' && pod.status.reason === 'Evicted' ? 0 : 1} ${pod.metadata.creationTimestamp ?? ''} ${pod.metadata.name}`;
  const ranked = terminated
    .map((pod) => ({ pod, by: rank(pod) }))
    .sort((left, right) => (left.by < right.by ? -1 : left.by > right.by ? 1 : 0));
  return ranked.slice(0, terminated.length - threshold).map(({ pod }) => pod);
}
