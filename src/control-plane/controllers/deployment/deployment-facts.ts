import type { Deployment, DeploymentStatus } from '../../../api/apps/deployment.ts';
import type { ReplicaSet } from '../../../api/apps/replica-set.ts';
import { sameTemplate } from '../../controller-runtime/pod-template.ts';
import { scaledValue } from '../../controller-runtime/int-or-percent.ts';

export const deploymentAnnotations = {
  revision: 'deployment.kubernetes.io/revision',
  revisionHistory: 'deployment.kubernetes.io/revision-history',
  desiredReplicas: 'deployment.kubernetes.io/desired-replicas',
  maxReplicas: 'deployment.kubernetes.io/max-replicas',
} as const;
export const TEMPLATE_HASH_LABEL = 'pod-template-hash';
/** The value in the spec that means no limit or no deadline. */
const UNLIMITED = 2 ** 31 - 1;

export const wantedReplicas = ({ spec }: Deployment): number => spec.replicas ?? 1;
export const sizeOf = ({ spec }: ReplicaSet): number => spec.replicas ?? 1;
/**
 * Returns the number of available pods that the set will keep. A set that was just scaled down reports more until its
 * controller has acted, but pods that will be deleted must not count. Upstream counts them, and may remove too many
 * from the next set.
 */
export const availableOf = (set: ReplicaSet): number => Math.min(set.status?.availableReplicas ?? 0, sizeOf(set));
export const isActiveSet = (set: ReplicaSet): boolean => sizeOf(set) > 0;
export const totalSize = (sets: readonly ReplicaSet[]): number => sets.reduce((total, set) => total + sizeOf(set), 0);
export const totalAvailable = (sets: readonly ReplicaSet[]): number =>
  sets.reduce((total, set) => total + availableOf(set), 0);

export const isRollingUpdate = ({ spec }: Deployment): boolean => spec.strategy?.type !== 'Recreate';

/**
 * Computes the limits. Surge is rounded up, unavailability down. If both are 0 the update could not progress, so one
 * pod may be unavailable (upstream: ResolveFenceposts).
 */
function fenceposts(deployment: Deployment): { surge: number; unavailable: number } {
  const wanted = wantedReplicas(deployment);
  const { maxSurge, maxUnavailable } = deployment.spec.strategy?.rollingUpdate ?? {};
  const surge = scaledValue(maxSurge, wanted, 'up');
  const unavailable = scaledValue(maxUnavailable, wanted, 'down');
  return { surge, unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable };
}

export function maxSurge(deployment: Deployment): number {
  return isRollingUpdate(deployment) ? fenceposts(deployment).surge : 0;
}

export function maxUnavailable(deployment: Deployment): number {
  return isRollingUpdate(deployment) ? Math.min(fenceposts(deployment).unavailable, wantedReplicas(deployment)) : 0;
}

/**
 * Returns the revision of a set, or 0 if it is absent or not a number. It is an int64, because users and tools may set
 * any value.
 */
export function revisionOf(set: ReplicaSet): bigint {
  return revisionNumber(set.metadata.annotations?.[deploymentAnnotations.revision]) ?? 0n;
}

const MOST_REVISION = 2n ** 63n - 1n;

export function revisionNumber(text: string | undefined): bigint | undefined {
  if (text === undefined || !/^[-+]?[0-9]{1,19}$/.test(text)) return undefined;
  const revision = BigInt(text.replace('+', ''));
  return revision > MOST_REVISION || revision < -MOST_REVISION - 1n ? undefined : revision;
}

/** Returns the revision of the set that becomes the newest: above all others, limited to int64. */
export function nextRevision(old: readonly ReplicaSet[]): bigint {
  const newest = old.map(revisionOf).reduce((most, each) => (each > most ? each : most), 0n);
  return newest < MOST_REVISION ? newest + 1n : newest;
}

export function wholeNumber(text: string | undefined): number | undefined {
  if (text === undefined || !/^[0-9]{1,15}$/.test(text)) return undefined;
  return Number(text);
}

export function hasProgressDeadline({ spec }: Deployment): boolean {
  return spec.progressDeadlineSeconds !== undefined && spec.progressDeadlineSeconds !== UNLIMITED;
}

/** Returns the history limit, or undefined if every old revision is kept. */
export function revisionHistoryLimit({ spec }: Deployment): number | undefined {
  return spec.revisionHistoryLimit === UNLIMITED ? undefined : spec.revisionHistoryLimit;
}

/** Finds the oldest set with the deployment's template. */
export function findNewSet(deployment: Deployment, sets: readonly ReplicaSet[]): ReplicaSet | undefined {
  return oldestFirst(sets).find((set) =>
    sameTemplate(set.spec.template, deployment.spec.template, TEMPLATE_HASH_LABEL),
  );
}

export function oldestFirst(sets: readonly ReplicaSet[]): ReplicaSet[] {
  return sets.toSorted(compareAge);
}

export function compareAge(left: ReplicaSet, right: ReplicaSet): number {
  const [leftAt = '', rightAt = ''] = [left.metadata.creationTimestamp, right.metadata.creationTimestamp];
  if (leftAt !== rightAt) return leftAt < rightAt ? -1 : 1;
  return left.metadata.name < right.metadata.name ? -1 : Number(left.metadata.name > right.metadata.name);
}

/** Whether all desired replicas are updated and available, and no old ones are left (upstream: DeploymentComplete). */
export function isComplete(deployment: Deployment, status: DeploymentStatus | undefined): boolean {
  const wanted = wantedReplicas(deployment);
  const { updatedReplicas = 0, replicas = 0, availableReplicas = 0, observedGeneration = 0 } = status ?? {};
  return (
    updatedReplicas === wanted &&
    replicas === wanted &&
    availableReplicas === wanted &&
    observedGeneration >= (deployment.metadata.generation ?? 0)
  );
}
