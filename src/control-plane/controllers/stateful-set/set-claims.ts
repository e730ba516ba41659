import type { StatefulSet } from '../../../api/apps/stateful-set.ts';
import { apiVersionOf } from '../../../api/client/resource-type.ts';
import type { ApiObject, ResourceType } from '../../../api/client/resource-type.ts';
import { pods, statefulSets } from '../../../api/client/resource-types.ts';
import type { OwnerReference } from '../../../api/core/meta.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { newControllerRef } from '../../controller-runtime/controller-ref.ts';
import { claimName, isInRange, ordinalOf } from './set-names.ts';

/** Returns a claim of the set's namespace from the cache, by name. */
export type ClaimLookup = (name: string) => PersistentVolumeClaim | undefined;

/** Builds the claims of a pod, one per template (upstream: getPersistentVolumeClaims). */
export function buildClaims(set: StatefulSet, pod: Pod): PersistentVolumeClaim[] {
  const ordinal = ordinalOf(pod) ?? 0;
  return (set.spec.volumeClaimTemplates ?? []).map((template) => ({
    metadata: {
      ...template.metadata,
      name: claimName(set, template, ordinal),
      namespace: set.metadata.namespace,
      labels: { ...template.metadata.labels, ...set.spec.selector.matchLabels },
    },
    spec: template.spec,
  }));
}

function claimsOf(set: StatefulSet, pod: Pod, lookup: ClaimLookup): PersistentVolumeClaim[] {
  const ordinal = ordinalOf(pod) ?? 0;
  return (set.spec.volumeClaimTemplates ?? []).flatMap((template) => lookup(claimName(set, template, ordinal)) ?? []);
}

/** Whether claims of the pod are missing in the cache. */
export function lacksClaims(set: StatefulSet, pod: Pod, lookup: ClaimLookup): boolean {
  return claimsOf(set, pod, lookup).length < (set.spec.volumeClaimTemplates ?? []).length;
}

/** Returns the pod's terminating claims. The pod cannot be created before they are gone. */
export function leavingClaims(set: StatefulSet, pod: Pod, lookup: ClaimLookup): string[] {
  return claimsOf(set, pod, lookup)
    .filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
    .map(({ metadata }) => metadata.name);
}

function deletes(set: StatefulSet, when: 'whenDeleted' | 'whenScaled'): boolean {
  return set.spec.persistentVolumeClaimRetentionPolicy?.[when] === 'Delete';
}

/**
 * Finds a claim that belongs to an earlier pod of this name and will be deleted with it. A new pod must wait, or it
 * would lose its data (upstream: PodClaimIsStale).
 */
export function findStaleClaim(set: StatefulSet, pod: Pod, lookup: ClaimLookup): string | undefined {
  if (!deletes(set, 'whenScaled')) return undefined;
  return claimsOf(set, pod, lookup).find((claim) => isStale(claim, pods, pod))?.metadata.name;
}

const names = <T extends ApiObject>(ref: OwnerReference, type: ResourceType<T>, { metadata }: T): boolean =>
  ref.apiVersion === apiVersionOf(type) && ref.kind === type.kind && ref.name === metadata.name;

const refsOf = ({ metadata }: ApiObject): readonly OwnerReference[] => metadata.ownerReferences ?? [];

/** Whether the claim refers to an earlier object of this name. */
function isStale<T extends ApiObject>(claim: PersistentVolumeClaim, type: ResourceType<T>, owner: T): boolean {
  const ref = refsOf(claim).find((each) => names(each, type, owner));
  return ref !== undefined && ref.uid !== owner.metadata.uid;
}

function refersTo(claim: PersistentVolumeClaim, { metadata }: ApiObject): boolean {
  return refsOf(claim).some(({ uid }) => uid === metadata.uid);
}

/** Whether another object controls the claim. The retention policy then does not apply to it. */
export function hasOtherController(set: StatefulSet, pod: Pod, claim: PersistentVolumeClaim): boolean {
  if (!deletes(set, 'whenDeleted') && !deletes(set, 'whenScaled')) return false;
  return refsOf(claim).some((ref) => {
    if (names(ref, statefulSets, set)) return ref.uid !== set.metadata.uid;
    if (names(ref, pods, pod)) return ref.uid !== pod.metadata.uid;
    return ref.controller === true;
  });
}

/** Whether pod or set must own the claim, so that the garbage collector deletes it with them. */
function wantedOwners(set: StatefulSet, pod: Pod): { readonly bySet: boolean; readonly byPod: boolean } {
  const isCondemned = !isInRange(set, ordinalOf(pod) ?? -1);
  const byPod = deletes(set, 'whenScaled') && isCondemned;
  return { bySet: deletes(set, 'whenDeleted') && !byPod, byPod };
}

function isUpToDate(set: StatefulSet, pod: Pod, claim: PersistentVolumeClaim): boolean {
  if (isStale(claim, statefulSets, set) || isStale(claim, pods, pod)) return true;
  const bySet = refersTo(claim, set);
  const byPod = refersTo(claim, pod);
  if (hasOtherController(set, pod, claim)) return !bySet && !byPod;
  const owners = new Set([set.metadata.uid, pod.metadata.uid]);
  if (refsOf(claim).some((ref) => owners.has(ref.uid) && ref.controller !== true)) return false;
  const wanted = wantedOwners(set, pod);
  return bySet === wanted.bySet && byPod === wanted.byPod;
}

/** Returns the pod's claims whose owners do not follow the retention policy (upstream: isClaimOwnerUpToDate). */
export function outdatedClaims(set: StatefulSet, pod: Pod, lookup: ClaimLookup): PersistentVolumeClaim[] {
  return claimsOf(set, pod, lookup).filter((claim) => !isUpToDate(set, pod, claim));
}

/** Returns the claim with the owners of the retention policy (upstream: updateClaimOwnerRefForSetAndPod). */
export function withWantedOwners(set: StatefulSet, pod: Pod, claim: PersistentVolumeClaim): PersistentVolumeClaim {
  const ownerReferences = refsOf(claim).filter((ref) => !names(ref, statefulSets, set) && !names(ref, pods, pod));
  if (!hasOtherController(set, pod, claim)) {
    const wanted = wantedOwners(set, pod);
    if (wanted.bySet) ownerReferences.push(newControllerRef(statefulSets, set));
    if (wanted.byPod) ownerReferences.push(newControllerRef(pods, pod));
  }
  return { ...claim, metadata: { ...claim.metadata, ownerReferences } };
}
