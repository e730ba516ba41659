import type { StatefulSetStatus } from '../../../api/apps/stateful-set.ts';
import { isPodAvailable, isPodReady } from '../../controller-runtime/pod-facts.ts';
import { ordinalOf, replicasOf } from './set-names.ts';
import type { SetFacts } from './set-plan.ts';
import { revisionOf } from './set-pods.ts';

/** The counts of a set's pods that its status needs. */
export interface SetCounts {
  readonly all: number;
  readonly ready: number;
  readonly available: number;
  /** The pods of the current and of the update revision that are not terminating. */
  readonly current: number;
  readonly updated: number;
}

/** Counts all pods. */
export function countSetPods({ set, revisions, pods, nowMs }: SetFacts): SetCounts {
  const { minReadySeconds = 0 } = set.spec;
  const count = { all: 0, ready: 0, available: 0, current: 0, updated: 0 };
  for (const pod of pods) {
    if (ordinalOf(pod) === undefined) continue;
    count.all++;
    if (pod.status?.phase === 'Running' && isPodReady(pod)) {
      count.ready++;
      if (isPodAvailable(pod, minReadySeconds, nowMs)) count.available++;
    }
    if (pod.metadata.deletionTimestamp !== undefined) continue;
    const revision = revisionOf(pod);
    if (revision === revisions.current.name) count.current++;
    if (revision === revisions.update.name) count.updated++;
  }
  return count;
}

/**
 * Computes the status. The counts include the pods created in this pass. Upstream counts them when its cache shows them,
 * which needs a second write for each pod. `updating` is the number of pods of the current revision that this pass
 * deletes for the update. The update is complete when all pods are ready and of the new revision (upstream:
 * updateStatus, completeRollingUpdate).
 */
export function computeSetStatus(
  { set, revisions }: Pick<SetFacts, 'set' | 'revisions'>,
  count: SetCounts,
  { collisionCount, updating }: { readonly collisionCount: number; readonly updating: number },
): StatefulSetStatus {
  const wanted = replicasOf(set);
  const isComplete =
    set.spec.updateStrategy?.type === 'RollingUpdate' &&
    [count.updated, count.ready, count.all].every((each) => each === wanted);
  return {
    observedGeneration: set.metadata.generation,
    replicas: count.all,
    readyReplicas: count.ready,
    currentReplicas: isComplete ? count.updated : Math.max(0, count.current - updating),
    updatedReplicas: count.updated,
    currentRevision: isComplete ? revisions.update.name : revisions.current.name,
    updateRevision: revisions.update.name,
    collisionCount,
    ...(set.status?.conditions !== undefined && { conditions: set.status.conditions }),
    availableReplicas: count.available,
  };
}

/** Whether the status differs; an absent field counts as zero. */
export function isSameStatus(left: StatefulSetStatus | undefined, right: StatefulSetStatus): boolean {
  const numbers = [
    'observedGeneration',
    'replicas',
    'readyReplicas',
    'currentReplicas',
    'updatedReplicas',
    'availableReplicas',
    'collisionCount',
  ] as const;
  return (
    left !== undefined &&
    numbers.every((name) => (left[name] ?? 0) === (right[name] ?? 0)) &&
    left.currentRevision === right.currentRevision &&
    left.updateRevision === right.updateRevision
  );
}
