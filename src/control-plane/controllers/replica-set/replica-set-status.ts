import type { ReplicaSet, ReplicaSetCondition, ReplicaSetStatus } from '../../../api/apps/replica-set.ts';
import { findCondition } from '../../../api/conditions.ts';
import { semanticEqual } from '../../../api/semantic-equal.ts';
import { formatTime } from '../../../api/time.ts';
import type { ReplicaCounts } from './replica-counts.ts';

export interface ReplicaSetFacts {
  readonly counts: ReplicaCounts;
  /** The error of creating or deleting pods. */
  readonly failure: Error | undefined;
}

/** Computes the status (upstream: replica_set_utils.go calculateStatus). */
export function computeReplicaSetStatus(
  replicaSet: ReplicaSet,
  { counts, failure }: ReplicaSetFacts,
  nowMs: number,
): ReplicaSetStatus {
  const status: ReplicaSetStatus = {
    replicas: counts.active,
    fullyLabeledReplicas: counts.fullyLabeled,
    readyReplicas: counts.ready,
    availableReplicas: counts.available,
    terminatingReplicas: counts.terminating,
    observedGeneration: replicaSet.metadata.generation,
  };
  const conditions = computeConditions(replicaSet, counts.active, failure, nowMs);
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

/** Whether the status differs; an absent field counts as 0. */
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
