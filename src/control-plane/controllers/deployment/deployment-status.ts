import type { Deployment, DeploymentCondition, DeploymentStatus } from '../../../api/apps/deployment.ts';
import type { ReplicaSet } from '../../../api/apps/replica-set.ts';
import { findCondition } from '../../../api/conditions.ts';
import { semanticEqual } from '../../../api/semantic-equal.ts';
import { formatTime, parseTime } from '../../../api/time.ts';
import { hasProgressDeadline, isComplete, maxUnavailable, totalSize, wantedReplicas } from './deployment-facts.ts';

/** Changes of the newest set in this pass that the status reports. */
export type NewSetEvent =
  | { readonly kind: 'created' | 'found' }
  | { readonly kind: 'failed'; readonly message: string };

export interface DeploymentFacts {
  readonly sets: readonly ReplicaSet[];
  readonly newSet: ReplicaSet | undefined;
  readonly newSetEvent: NewSetEvent | undefined;
  readonly judgesProgress: boolean;
  readonly collisionCount: number | undefined;
}

type Conditions = readonly DeploymentCondition[];

/** Computes the status (upstream: calculateStatus, checkPausedConditions and syncRolloutStatus). */
export function computeDeploymentStatus(
  deployment: Deployment,
  facts: DeploymentFacts,
  nowMs: number,
): DeploymentStatus {
  const { sets, newSet, collisionCount } = facts;
  const available = sum(sets, ({ status }) => status?.availableReplicas);
  const terminating = terminatingReplicas(sets);
  const numbers: DeploymentStatus = {
    observedGeneration: deployment.metadata.generation,
    replicas: sum(sets, ({ status }) => status?.replicas),
    updatedReplicas: newSet?.status?.replicas ?? 0,
    readyReplicas: sum(sets, ({ status }) => status?.readyReplicas),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, totalSize(sets) - available),
    ...(terminating !== undefined && { terminatingReplicas: terminating }),
    ...(collisionCount !== undefined && { collisionCount }),
  };
  let conditions = afterPause(deployment, deployment.status?.conditions ?? [], nowMs);
  conditions = afterNewSet(deployment, conditions, facts, nowMs);
  conditions = setCondition(conditions, availability(deployment, available), nowMs);
  if (facts.judgesProgress)
    conditions = withFailure(judgeProgress(deployment, conditions, numbers, newSet, nowMs), sets, newSet, nowMs);
  return conditions.length === 0 ? numbers : { ...numbers, conditions: [...conditions] };
}

/** Returns the milliseconds until the progress deadline, or undefined if there is none or it was already reported. */
export function progressCheckMs(deployment: Deployment, status: DeploymentStatus, nowMs: number): number | undefined {
  const condition = findCondition(status.conditions, 'Progressing');
  const updatedMs = parseTime(condition?.lastUpdateTime);
  if (
    deployment.spec.paused === true ||
    deployment.metadata.deletionTimestamp !== undefined ||
    !hasProgressDeadline(deployment)
  )
    return undefined;
  if (
    condition === undefined ||
    updatedMs === undefined ||
    isComplete(deployment, status) ||
    condition.reason === 'ProgressDeadlineExceeded'
  )
    return undefined;
  return Math.max(0, updatedMs + (deployment.spec.progressDeadlineSeconds ?? 0) * 1000 - nowMs) + 1;
}

/** Whether the status differs; an absent number counts as 0. */
export function isSameStatus(left: DeploymentStatus | undefined, right: DeploymentStatus): boolean {
  const numbers = [
    'observedGeneration',
    'replicas',
    'updatedReplicas',
    'readyReplicas',
    'availableReplicas',
    'unavailableReplicas',
    'terminatingReplicas',
    'collisionCount',
  ] as const;
  return (
    numbers.every((name) => (left?.[name] ?? 0) === (right[name] ?? 0)) &&
    semanticEqual(left?.conditions, right.conditions)
  );
}

function sum(sets: readonly ReplicaSet[], of: (set: ReplicaSet) => number | undefined): number {
  return sets.reduce((total, set) => total + (of(set) ?? 0), 0);
}

/** Sums the terminating replicas, or returns undefined while a replica set does not report them. */
function terminatingReplicas(sets: readonly ReplicaSet[]): number | undefined {
  const silent = sets.some(
    ({ status }) => (status?.observedGeneration ?? 0) > 0 && status?.terminatingReplicas === undefined,
  );
  return silent ? undefined : sum(sets, ({ status }) => status?.terminatingReplicas);
}

type Said = Pick<DeploymentCondition, 'type' | 'status' | 'reason' | 'message'>;

/** Sets a condition. One with the same status and reason stays unchanged; the transition time belongs to the status. */
function setCondition(conditions: Conditions, said: Said, nowMs: number): Conditions {
  const known = findCondition(conditions, said.type);
  if (known !== undefined && known.status === said.status && known.reason === said.reason) return conditions;
  return replaceCondition(conditions, said, nowMs);
}

function replaceCondition(conditions: Conditions, said: Said, nowMs: number): Conditions {
  const known = findCondition(conditions, said.type);
  const now = formatTime(nowMs);
  const lastTransitionTime = known?.status === said.status ? known.lastTransitionTime : now;
  return [...conditions.filter((each) => each !== known), { ...said, lastUpdateTime: now, lastTransitionTime }];
}

const progressing = (status: Said['status'], reason: string, message: string): Said => ({
  type: 'Progressing',
  status,
  reason,
  message,
});

/** Handles pausing and resuming. Both restart the deadline; an exceeded deadline stays reported. */
function afterPause(deployment: Deployment, conditions: Conditions, nowMs: number): Conditions {
  const known = findCondition(conditions, 'Progressing');
  if (
    !hasProgressDeadline(deployment) ||
    deployment.metadata.deletionTimestamp !== undefined ||
    known?.reason === 'ProgressDeadlineExceeded'
  )
    return conditions;
  if (deployment.spec.paused === true)
    return setCondition(conditions, progressing('Unknown', 'DeploymentPaused', 'Deployment is paused'), nowMs);
  return known?.reason === 'DeploymentPaused'
    ? setCondition(conditions, progressing('Unknown', 'DeploymentResumed', 'Deployment is resumed'), nowMs)
    : conditions;
}

function afterNewSet(
  deployment: Deployment,
  conditions: Conditions,
  { newSet, newSetEvent }: DeploymentFacts,
  nowMs: number,
): Conditions {
  if (!hasProgressDeadline(deployment)) return conditions;
  if (newSetEvent?.kind === 'failed')
    return setCondition(conditions, progressing('False', 'ReplicaSetCreateError', newSetEvent.message), nowMs);
  const name = JSON.stringify(newSet?.metadata.name ?? '');
  if (newSetEvent?.kind === 'created')
    return setCondition(
      conditions,
      progressing('True', 'NewReplicaSetCreated', `Created new replica set ${name}`),
      nowMs,
    );
  if (newSet !== undefined && findCondition(conditions, 'Progressing') === undefined)
    return setCondition(conditions, progressing('True', 'FoundNewReplicaSet', `Found new replica set ${name}`), nowMs);
  return conditions;
}

function availability(deployment: Deployment, available: number): Said {
  return available >= wantedReplicas(deployment) - maxUnavailable(deployment)
    ? {
        type: 'Available',
        status: 'True',
        reason: 'MinimumReplicasAvailable',
        message: 'Deployment has minimum availability.',
      }
    : {
        type: 'Available',
        status: 'False',
        reason: 'MinimumReplicasUnavailable',
        message: 'Deployment does not have minimum availability.',
      };
}

/**
 * Computes the condition Progressing: complete, progressing, or deadline exceeded. `kubectl rollout status` waits for
 * it.
 */
function judgeProgress(
  deployment: Deployment,
  conditions: Conditions,
  numbers: DeploymentStatus,
  newSet: ReplicaSet | undefined,
  nowMs: number,
): Conditions {
  const current = findCondition(conditions, 'Progressing');
  if (!hasProgressDeadline(deployment)) return conditions.filter((each) => each !== current);
  // A completed rollout is not evaluated again, even if its pods fail.
  if (numbers.replicas === numbers.updatedReplicas && current?.reason === 'NewReplicaSetAvailable') return conditions;
  const subject =
    newSet === undefined
      ? `Deployment ${JSON.stringify(deployment.metadata.name)}`
      : `ReplicaSet ${JSON.stringify(newSet.metadata.name)}`;
  if (isComplete(deployment, numbers))
    return setCondition(
      conditions,
      progressing('True', 'NewReplicaSetAvailable', `${subject} has successfully progressed.`),
      nowMs,
    );
  // Any progress restarts the deadline, so the time is updated even if nothing else in the condition changes.
  if (hasProgressed(deployment.status, numbers))
    return replaceCondition(conditions, progressing('True', 'ReplicaSetUpdated', `${subject} is progressing.`), nowMs);
  return hasTimedOut(deployment, current, nowMs)
    ? setCondition(
        conditions,
        progressing('False', 'ProgressDeadlineExceeded', `${subject} has timed out progressing.`),
        nowMs,
      )
    : conditions;
}

function hasProgressed(before: DeploymentStatus | undefined, now: DeploymentStatus): boolean {
  const { replicas = 0, updatedReplicas = 0, readyReplicas = 0, availableReplicas = 0 } = before ?? {};
  const oldLeft = (now.replicas ?? 0) - (now.updatedReplicas ?? 0);
  return (
    (now.updatedReplicas ?? 0) > updatedReplicas ||
    oldLeft < replicas - updatedReplicas ||
    (now.readyReplicas ?? 0) > readyReplicas ||
    (now.availableReplicas ?? 0) > availableReplicas
  );
}

function hasTimedOut(deployment: Deployment, condition: DeploymentCondition | undefined, nowMs: number): boolean {
  if (condition === undefined || condition.reason === 'NewReplicaSetAvailable') return false;
  if (condition.reason === 'ProgressDeadlineExceeded') return true;
  const updatedMs = parseTime(condition.lastUpdateTime);
  return updatedMs !== undefined && updatedMs + (deployment.spec.progressDeadlineSeconds ?? 0) * 1000 < nowMs;
}

/** Copies ReplicaFailure from the sets, that of the newest set first. */
function withFailure(
  conditions: Conditions,
  sets: readonly ReplicaSet[],
  newSet: ReplicaSet | undefined,
  nowMs: number,
): Conditions {
  for (const set of newSet === undefined ? sets : [newSet, ...sets]) {
    const failure = findCondition(set.status?.conditions, 'ReplicaFailure');
    if (failure === undefined) continue;
    const { status, reason, message, lastTransitionTime = formatTime(nowMs) } = failure;
    const known = findCondition(conditions, 'ReplicaFailure');
    if (known?.status === status && known.reason === reason) return conditions;
    const since = known?.status === status ? known.lastTransitionTime : lastTransitionTime;
    return [
      ...conditions.filter((each) => each !== known),
      {
        type: 'ReplicaFailure',
        status,
        reason,
        message,
        lastUpdateTime: lastTransitionTime,
        lastTransitionTime: since,
      },
    ];
  }
  return conditions.filter(({ type }) => type !== 'ReplicaFailure');
}
