import type { StatefulSet } from '../../../api/apps/stateful-set.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isTerminalPod } from '../../../api/pod.ts';
import { scaledValue } from '../../controller-runtime/int-or-percent.ts';
import { isPodAvailable, isPodReady } from '../../controller-runtime/pod-facts.ts';
import { findStaleClaim, lacksClaims, leavingClaims, outdatedClaims } from './set-claims.ts';
import type { ClaimLookup } from './set-claims.ts';
import { isInRange, ordinalOf, replicasOf, startOrdinal } from './set-names.ts';
import { buildSetPod, isConsistent, revisionOf } from './set-pods.ts';
import type { SetRevisions } from './set-pods.ts';

/** All facts on which the plan depends. */
export interface SetFacts {
  readonly set: StatefulSet;
  readonly revisions: SetRevisions;
  /** The pods of the set, including those that are being deleted. */
  readonly pods: readonly Pod[];
  readonly claimOf: ClaimLookup;
  readonly nowMs: number;
}

/**
 * One step. `create` includes the claims; `claims` creates missing ones; `retain` sets their owners; `repair` restores
 * labels, volumes and claims.
 */
export interface SetStep {
  readonly kind: 'create' | 'delete' | 'claims' | 'retain' | 'repair';
  readonly pod: Pod;
  /** For `delete`: whether the pod is recreated from the new revision. */
  readonly isUpdate?: boolean;
}

export interface SetPlan {
  /**
   * The groups of steps. Each group starts after the previous one has finished. Steps of a Parallel set run
   * concurrently.
   */
  readonly groups: readonly (readonly SetStep[])[];
  /** The claims that must be deleted before a pod can be created. */
  readonly waitsForClaims: readonly string[];
}

/** A desired pod; `exists` is false for one that must be created. */
interface Replica {
  readonly pod: Pod;
  readonly exists: boolean;
}

interface Draft {
  readonly steps: SetStep[];
  readonly waitsForClaims: string[];
}

type Progress = 'next' | 'stop';

/** Plans the next steps for pods and claims (upstream: defaultStatefulSetControl.updateStatefulSet). */
export function planStatefulSet(facts: SetFacts): SetPlan {
  const { set } = facts;
  if (set.metadata.deletionTimestamp !== undefined) return { groups: [], waitsForClaims: [] };
  const { replicas, condemned } = partitionPods(facts);
  const first: Draft = { steps: [], waitsForClaims: [] };
  for (const replica of replicas)
    if (planReplica(facts, replica, first) === 'stop')
      return { groups: [first.steps], waitsForClaims: first.waitsForClaims };
  const retained = condemned
    .filter((pod) => outdatedClaims(set, pod, facts.claimOf).length > 0)
    .map((pod): SetStep => ({ kind: 'retain', pod }));
  const groups = [first.steps, retained, planScaleDown(facts, replicas, condemned)];
  // An ordered set starts its update when no pod is left to scale down.
  if (condemned.length === 0 || !isOrdered(set)) groups.push(planUpdate(facts, replicas));
  return { groups, waitsForClaims: first.waitsForClaims };
}

export const isOrdered = ({ spec }: StatefulSet): boolean => spec.podManagementPolicy !== 'Parallel';

const isLeaving = ({ metadata }: Pod): boolean => metadata.deletionTimestamp !== undefined;

function isAvailable({ set, nowMs }: SetFacts, pod: Pod): boolean {
  return isPodAvailable(pod, set.spec.minReadySeconds ?? 0, nowMs);
}

const isRunningAndReady = (pod: Pod): boolean => pod.status?.phase === 'Running' && isPodReady(pod);

/** Returns the desired pods by ordinal, and the surplus pods from the highest ordinal down. */
function partitionPods({ set, revisions, pods }: SetFacts): {
  readonly replicas: readonly Replica[];
  readonly condemned: readonly Pod[];
} {
  const byOrdinal = new Map<number, Pod>();
  const condemned: Pod[] = [];
  for (const pod of pods) {
    const ordinal = ordinalOf(pod);
    if (ordinal === undefined) continue;
    if (isInRange(set, ordinal)) byOrdinal.set(ordinal, pod);
    else condemned.push(pod);
  }
  condemned.sort((left, right) => (ordinalOf(right) ?? 0) - (ordinalOf(left) ?? 0));
  const replicas = Array.from({ length: replicasOf(set) }, (_, index): Replica => {
    const ordinal = startOrdinal(set) + index;
    const pod = byOrdinal.get(ordinal);
    return pod === undefined ? { pod: buildSetPod(set, revisions, ordinal), exists: false } : { pod, exists: true };
  });
  return { replicas, condemned };
}

/**
 * Plans one desired pod (upstream: processReplica). An ordered set stops at the first pod that is not in its desired
 * state.
 */
function planReplica(facts: SetFacts, { pod, exists }: Replica, draft: Draft): Progress {
  const { set, claimOf } = facts;
  const blocked: Progress = isOrdered(set) ? 'stop' : 'next';
  if (exists && isTerminalPod(pod)) {
    // The pod is recreated when it is gone.
    if (!isLeaving(pod)) draft.steps.push({ kind: 'delete', pod });
    return blocked;
  }
  if (!exists) {
    const stale = findStaleClaim(set, pod, claimOf);
    if (stale === undefined) draft.steps.push({ kind: 'create', pod });
    draft.waitsForClaims.push(...(stale === undefined ? leavingClaims(set, pod, claimOf) : [stale]));
    return blocked;
  }
  if ((pod.status?.phase ?? 'Pending') === 'Pending' && lacksClaims(set, pod, claimOf))
    draft.steps.push({ kind: 'claims', pod });
  if (isOrdered(set) && (isLeaving(pod) || !isRunningAndReady(pod) || !isAvailable(facts, pod))) return 'stop';
  if (!isConsistent(set, pod)) draft.steps.push({ kind: 'repair', pod });
  else if (outdatedClaims(set, pod, claimOf).length > 0) draft.steps.push({ kind: 'retain', pod });
  return 'next';
}

/**
 * Plans the scale-down (upstream: processCondemned). An ordered set deletes one pod at a time, and waits while another
 * one is not available.
 */
function planScaleDown(facts: SetFacts, replicas: readonly Replica[], condemned: readonly Pod[]): SetStep[] {
  const deletion = (pod: Pod): SetStep => ({ kind: 'delete', pod });
  if (!isOrdered(facts.set)) return condemned.filter((pod) => !isLeaving(pod)).map(deletion);
  const [next] = condemned;
  if (next === undefined || isLeaving(next)) return [];
  const isUnavailable = (pod: Pod): boolean => isLeaving(pod) || !isAvailable(facts, pod);
  const firstUnavailable =
    replicas.find(({ pod }) => isUnavailable(pod))?.pod ?? condemned.toReversed().find(isUnavailable);
  const isHealthy = isRunningAndReady(next) && isAvailable(facts, next);
  // An ended pod never becomes ready. Upstream waits for it, and blocks forever if a lower one has ended too.
  return isHealthy || next === firstUnavailable || isTerminalPod(next) ? [deletion(next)] : [];
}

/** Selects the pods to recreate with the new revision, from the highest ordinal down to the partition. */
function planUpdate(facts: SetFacts, replicas: readonly Replica[]): SetStep[] {
  const { type, rollingUpdate } = facts.set.spec.updateStrategy ?? {};
  if (type === 'OnDelete') return [];
  const candidates = replicas.slice(rollingUpdate?.partition ?? 0).toReversed();
  return rollingUpdate?.maxUnavailable === undefined
    ? updateOneByOne(facts, candidates)
    : updateMany(facts, replicas, candidates, rollingUpdate.maxUnavailable);
}

const isOld = ({ revisions }: SetFacts, { pod, exists }: Replica): boolean =>
  exists && !isLeaving(pod) && revisionOf(pod) !== revisions.update.name;

const updating = ({ pod }: Replica): SetStep => ({ kind: 'delete', pod, isUpdate: true });

/** Selects the next old pod, unless a higher one is still being updated. */
function updateOneByOne(facts: SetFacts, candidates: readonly Replica[]): SetStep[] {
  for (const candidate of candidates) {
    if (isOld(facts, candidate)) return [updating(candidate)];
    if (isReplicaUnavailable(facts, candidate)) return [];
  }
  return [];
}

function isReplicaUnavailable(facts: SetFacts, { pod, exists }: Replica): boolean {
  return !exists || isLeaving(pod) || !isAvailable(facts, pod);
}

/**
 * Selects as many pods as may be unavailable in addition to those that already are (upstream:
 * updateStatefulSetAfterInvariantEstablished).
 */
function updateMany(
  facts: SetFacts,
  replicas: readonly Replica[],
  candidates: readonly Replica[],
  maxUnavailable: number | string,
): SetStep[] {
  const most = Math.max(1, scaledValue(maxUnavailable, replicas.length, 'down'));
  const unavailable = replicas.filter((replica) => isReplicaUnavailable(facts, replica)).length;
  return candidates
    .filter((candidate) => isOld(facts, candidate))
    .slice(0, Math.max(0, most - unavailable))
    .map(updating);
}
