import type { DaemonSetStatus } from '../../../api/apps/daemon-set.ts';
import { isPodAvailable, isPodReady } from '../../controller-runtime/pod-facts.ts';
import { isUpdated, oldestFirst } from './daemon-pods.ts';
import { concernedNodes } from './daemon-plan.ts';
import type { DaemonFacts } from './daemon-plan.ts';

/**
 * Computes the status; each node counts by its oldest pod. `handled` means that the pass acted on the spec and did not
 * only read it.
 */
export function computeDaemonStatus(facts: DaemonFacts, handled: boolean): DaemonSetStatus {
  const { daemonSet, starting, podsByNode, hash, nowMs } = facts;
  const { minReadySeconds = 0 } = daemonSet.spec;
  const count = { desired: 0, current: 0, misplaced: 0, ready: 0, available: 0, updated: 0 };
  for (const { metadata } of concernedNodes(facts)) {
    const pods = podsByNode.get(metadata.name) ?? [];
    const [pod] = pods.length > 1 ? oldestFirst(pods) : pods;
    if (!starting.has(metadata.name)) {
      if (pod !== undefined) count.misplaced++;
      continue;
    }
    count.desired++;
    if (pod === undefined) continue;
    count.current++;
    if (isPodReady(pod)) count.ready++;
    if (isPodAvailable(pod, minReadySeconds, nowMs)) count.available++;
    if (isUpdated(daemonSet, pod, hash)) count.updated++;
  }
  return {
    ...daemonSet.status,
    currentNumberScheduled: count.current,
    numberMisscheduled: count.misplaced,
    desiredNumberScheduled: count.desired,
    numberReady: count.ready,
    ...(handled && { observedGeneration: daemonSet.metadata.generation }),
    updatedNumberScheduled: count.updated,
    numberAvailable: count.available,
    numberUnavailable: count.desired - count.available,
  };
}

/** Whether the status differs; an absent number counts as 0. */
export function isSameStatus(left: DaemonSetStatus | undefined, right: DaemonSetStatus): boolean {
  const numbers = [
    'currentNumberScheduled',
    'numberMisscheduled',
    'desiredNumberScheduled',
    'numberReady',
    'observedGeneration',
    'updatedNumberScheduled',
    'numberAvailable',
    'numberUnavailable',
  ] as const;
  return left !== undefined && numbers.every((name) => (left[name] ?? 0) === (right[name] ?? 0));
}
