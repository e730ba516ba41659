import type { Deployment } from '../../../api/apps/deployment.ts';
import type { ReplicaSet } from '../../../api/apps/replica-set.ts';
import { scaledValue } from '../../controller-runtime/int-or-percent.ts';
import {
  availableOf,
  compareAge,
  deploymentAnnotations,
  findNewSet,
  isActiveSet,
  isComplete,
  isRollingUpdate,
  maxUnavailable,
  oldestFirst,
  revisionHistoryLimit,
  nextRevision,
  revisionOf,
  sizeOf,
  totalAvailable,
  totalSize,
  wantedReplicas,
  wholeNumber,
} from './deployment-facts.ts';
import { buildNewSet, syncNewSet, withReplicasAnnotations } from './new-replica-set.ts';
import { shareReplicas } from './share-replicas.ts';

/** The changes of one pass to the deployment's replica sets, in order. */
export type DeploymentStep =
  | { readonly kind: 'create'; readonly set: ReplicaSet }
  | { readonly kind: 'update'; readonly before: ReplicaSet; readonly set: ReplicaSet }
  | { readonly kind: 'delete'; readonly set: ReplicaSet };

export interface DeploymentPlan {
  readonly steps: readonly DeploymentStep[];
  /** The set of the deployment's template before the steps. It is absent if there is none. */
  readonly newSet: ReplicaSet | undefined;
  /** Whether the progress of a rollout is evaluated; not while the deployment is paused, scaled or deleted. */
  readonly judgesProgress: boolean;
}

/**
 * Plans the changes of a deployment's sets: one round of a rollout, proportional scaling, or clean-up (upstream:
 * controller/deployment). Each single step respects every limit, even if the next one fails. `oldPodsRunning` means
 * that pods of old sets, including terminating ones, have not ended yet.
 */
export function planDeployment(
  deployment: Deployment,
  sets: readonly ReplicaSet[],
  oldPodsRunning: boolean,
): DeploymentPlan {
  const newSet = findNewSet(deployment, sets);
  const old = oldestFirst(sets).filter((set) => set !== newSet);
  const draft = new Draft(deployment, old, newSet, nextRevision(old));
  const judgesProgress = decide(draft, oldPodsRunning);
  return { steps: draft.steps(), newSet, judgesProgress };
}

function decide(draft: Draft, oldPodsRunning: boolean): boolean {
  const { deployment } = draft;
  if (deployment.metadata.deletionTimestamp !== undefined) return false;
  if (deployment.spec.paused === true) {
    scale(draft);
    cleanUp(draft);
    return false;
  }
  if (wasScaled(draft)) {
    scale(draft);
    return false;
  }
  if (isRollingUpdate(deployment)) rollOut(draft);
  else recreate(draft, oldPodsRunning);
  return true;
}

/** Applies the changes to a model of the sets and collects the steps. */
class Draft {
  readonly deployment: Deployment;
  readonly #revision: bigint;
  readonly #before: readonly ReplicaSet[];
  readonly #deleted = new Set<string>();
  /** The old sets, the oldest first. */
  old: readonly ReplicaSet[];
  newSet: ReplicaSet | undefined;

  constructor(deployment: Deployment, old: readonly ReplicaSet[], newSet: ReplicaSet | undefined, revision: bigint) {
    this.deployment = deployment;
    this.#revision = revision;
    this.#before = newSet === undefined ? old : [...old, newSet];
    this.old = old;
    this.newSet = newSet === undefined ? undefined : syncNewSet(deployment, newSet, revision);
  }

  get all(): readonly ReplicaSet[] {
    return this.newSet === undefined ? this.old : [...this.old, this.newSet];
  }

  /** The set of the deployment's template; created if there is none. */
  ensureNewSet(): ReplicaSet {
    if (this.newSet === undefined) {
      const made = buildNewSet(this.deployment, this.#revision);
      this.newSet = { ...made, spec: { ...made.spec, replicas: sizeOfNewSet(this.deployment, this.old, made) } };
    }
    return this.newSet;
  }

  /**
   * Changes the size of a set. Returns whether it differs. `force` records the deployment's size even if the set keeps
   * its own.
   */
  resize(set: ReplicaSet, replicas: number, force = false): boolean {
    if (sizeOf(set) === replicas && !force) return false;
    const noted = withReplicasAnnotations(this.deployment, set);
    const resized = sizeOf(set) === replicas ? noted : { ...noted, spec: { ...noted.spec, replicas } };
    if (set === this.newSet) this.newSet = resized;
    else this.old = this.old.map((each) => (each === set ? resized : each));
    return sizeOf(set) !== replicas;
  }

  delete(set: ReplicaSet): void {
    this.#deleted.add(set.metadata.uid);
  }

  steps(): DeploymentStep[] {
    const before = new Map(this.#before.map((set) => [set.metadata.uid, set]));
    const steps: DeploymentStep[] = [];
    for (const set of this.newSet === undefined ? this.old : [this.newSet, ...this.old]) {
      const was = before.get(set.metadata.uid);
      if (was === undefined) steps.push({ kind: 'create', set });
      else if (this.#deleted.has(set.metadata.uid)) steps.push({ kind: 'delete', set: was });
      else if (was !== set) steps.push({ kind: 'update', before: was, set });
    }
    return steps;
  }
}

/** Whether a set was sized for another number of replicas than the deployment now has. */
function wasScaled({ all, deployment }: Draft): boolean {
  return all.filter(isActiveSet).some((set) => {
    const desired = wholeNumber(set.metadata.annotations?.[deploymentAnnotations.desiredReplicas]);
    return desired !== undefined && desired !== wantedReplicas(deployment);
  });
}

/**
 * Computes the size of the new set: scales up within the surge, or down to the desired number (upstream:
 * NewRSNewReplicas).
 */
function sizeOfNewSet(deployment: Deployment, old: readonly ReplicaSet[], set: ReplicaSet): number {
  const wanted = wantedReplicas(deployment);
  if (!isRollingUpdate(deployment)) return wanted;
  const room =
    wanted +
    scaledValue(deployment.spec.strategy?.rollingUpdate?.maxSurge, wanted, 'up') -
    totalSize(old) -
    sizeOf(set);
  return room <= 0 ? sizeOf(set) : sizeOf(set) + Math.min(room, wanted - sizeOf(set));
}

function rollOut(draft: Draft): void {
  const { deployment } = draft;
  const wanted = wantedReplicas(deployment);
  const newSet = draft.ensureNewSet();
  if (sizeOf(newSet) > wanted) {
    draft.resize(newSet, wanted);
    return;
  }
  if (sizeOf(newSet) < wanted && draft.resize(newSet, sizeOfNewSet(deployment, draft.old, newSet))) return;
  if (shrinkOld(draft)) return;
  if (isComplete(deployment, deployment.status)) cleanUp(draft);
}

/**
 * Scales old sets down: first unhealthy replicas, then as many as are available above the minimum. Missing replicas of
 * the new set count against it, so that a stuck rollout stops scaling down. Nothing is removed until the ReplicaSet
 * controller has observed the set's new size, because the counts belong to the old size: a set that was scaled down and
 * up again would count pods that are gone (upstream does not wait).
 */
function shrinkOld(draft: Draft): boolean {
  const { deployment } = draft;
  const newSet = draft.ensureNewSet();
  if (totalSize(draft.old) === 0 || !draft.all.every(isSizeSeen)) return false;
  const minAvailable = wantedReplicas(deployment) - maxUnavailable(deployment);
  let left = totalSize(draft.all) - minAvailable - (sizeOf(newSet) - availableOf(newSet));
  if (left <= 0) return false;
  let shrunk = false;
  for (const set of draft.old) {
    const broken = Math.min(left, sizeOf(set) - availableOf(set));
    if (broken <= 0) continue;
    left -= broken;
    shrunk = draft.resize(set, sizeOf(set) - broken) || shrunk;
  }
  let surplus = totalAvailable(draft.all) - minAvailable;
  for (const set of draft.old) {
    const taken = Math.min(surplus, sizeOf(set));
    if (taken <= 0) continue;
    surplus -= taken;
    shrunk = draft.resize(set, sizeOf(set) - taken) || shrunk;
  }
  return shrunk;
}

/** Whether the status belongs to the size in the spec. */
const isSizeSeen = ({ metadata, status }: ReplicaSet): boolean =>
  (metadata.generation ?? 0) <= (status?.observedGeneration ?? 0);

/** Plans Recreate: no new pod is created before the last old one has ended. */
function recreate(draft: Draft, oldPodsRunning: boolean): void {
  const shrunk = draft.old.filter((set) => draft.resize(set, 0));
  if (shrunk.length > 0 || oldPodsRunning) return;
  draft.resize(draft.ensureNewSet(), wantedReplicas(draft.deployment));
  if (isComplete(draft.deployment, draft.deployment.status)) cleanUp(draft);
}

/**
 * After the deployment was scaled, distributes the replicas proportionally, so that the rollout continues at the same
 * pace. The new size is always recorded; otherwise a set that already has it would look as if the deployment was still
 * being scaled, as in upstream.
 */
function scale(draft: Draft): void {
  const { deployment, newSet } = draft;
  const wanted = wantedReplicas(deployment);
  const active = draft.all.filter(isActiveSet);
  const [only = newSet ?? draft.old.at(-1)] = active;
  if (active.length <= 1) {
    if (only !== undefined) draft.resize(only, wanted, true);
    return;
  }
  if (newSet !== undefined && isSaturated(deployment, newSet)) {
    for (const set of draft.old) draft.resize(set, 0);
    return;
  }
  const shares = isRollingUpdate(deployment)
    ? shareReplicas(deployment, active)
    : active.map((set) => ({ set, replicas: sizeOf(set) }));
  for (const { set, replicas } of shares) draft.resize(set, replicas, true);
}

/** Whether the new set has all replicas available, and the desired number is recorded in it. */
function isSaturated(deployment: Deployment, set: ReplicaSet): boolean {
  const wanted = wantedReplicas(deployment);
  return (
    sizeOf(set) === wanted &&
    wholeNumber(set.metadata.annotations?.[deploymentAnnotations.desiredReplicas]) === wanted &&
    availableOf(set) === wanted
  );
}

/** Deletes old sets without pods beyond the history limit, oldest revisions first. */
function cleanUp(draft: Draft): void {
  const limit = revisionHistoryLimit(draft.deployment);
  if (limit === undefined) return;
  const kept = draft.old.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const byRevision = kept.toSorted((left, right) => compareRevisions(left, right) || compareAge(left, right));
  for (const set of byRevision.slice(0, Math.max(0, kept.length - limit))) {
    if ((set.status?.replicas ?? 0) === 0 && sizeOf(set) === 0 && isSizeSeen(set)) draft.delete(set);
  }
}

function compareRevisions(left: ReplicaSet, right: ReplicaSet): number {
  const [a, b] = [revisionOf(left), revisionOf(right)];
  return a === b ? 0 : a < b ? -1 : 1;
}
