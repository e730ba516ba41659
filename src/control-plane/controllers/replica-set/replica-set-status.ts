import type { ReplicaSet, ReplicaSetCondition, ReplicaSetStatus } from '../../../api/apps/replica-set.ts';
import { findCondition } from '../../../api/conditions.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { semanticEqual } from '../../../api/semantic-equal.ts';
import { formatTime } from '../../../api/time.ts';
import { isPodAvailable, isPodReady } from '../../controller-runtime/pod-facts.ts';

export interface ReplicaSetFacts {
  /** Neither over nor leaving, and the replica set's. */
  readonly active: readonly Pod[];
  /** Leaving, and the replica set's. */
  readonly terminating: readonly Pod[];
  /** What went wrong with making or deleting pods. */
  readonly failure: Error | undefined;
}

/** The status as it should be now (upstream: replica_set_utils.go calculateStatus). */
export function computeReplicaSetStatus(
  replicaSet: ReplicaSet,
  { active, terminating, failure }: ReplicaSetFacts,
  nowMs: number,
): ReplicaSetStatus {
  const { template, minReadySeconds = 0 } = replicaSet.spec;
  const templateLabels = Object.entries(template.metadata.labels ?? {});
  const ready = active.filter(isPodReady);
  const status: ReplicaSetStatus = {
    replicas: active.length,
    fullyLabeledReplicas: active.filter(({ metadata }) =>
      templateLabels.every(([key, value]) => metadata.labels?.[key] === value),
    ).length,
    readyReplicas: ready.length,
    availableReplicas: ready.filter((pod) => isPodAvailable(pod, minReadySeconds, nowMs)).length,
    terminatingReplicas: terminating.length,
    observedGeneration: replicaSet.metadata.generation,
  };
  const conditions = computeConditions(replicaSet, active.length, failure, nowMs);
  return conditions.length === 0 ? status : { ...status, conditions };
}

function computeConditions(
  replicaSet: ReplicaSet,
  activeCount: number,
  failure: Error | undefined,
  nowMs: number,
): ReplicaSetCondition[] {
  const conditions = replicaSet.status?.conditions ?? [];
  const known = findCondition(conditions, 'ReplicaFailure');
  if (failure === undefined) return conditions.filter((each) => each !== known);
  if (known !== undefined) return conditions;
  const reason = activeCount < (replicaSet.spec.replicas ?? 1) ? 'FailedCreate' : 'FailedDelete';
  return [
    ...conditions,
    { type: 'ReplicaFailure', status: 'True', lastTransitionTime: formatTime(nowMs), reason, message: failure.message },
  ];
}

/** Whether writing it would tell anything new; a field that is absent counts as 0. */
export function isSameStatus(left: ReplicaSetStatus | undefined, right: ReplicaSetStatus): boolean {
  const numbers = [
    'replicas',
    'fullyLabeledReplicas',
    'readyReplicas',
    'availableReplicas',
    'terminatingReplicas',
    'observedGeneration',
  ] as const;
  return (
    left !== undefined &&
    numbers.every((name) => (left[name] ?? 0) === (right[name] ?? 0)) &&
    semanticEqual(left.conditions, right.conditions)
  );
}
