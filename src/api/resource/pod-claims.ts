import type { Pod } from '../core/pod.ts';
import type { PodResourceClaim } from '../core/pod-spec.ts';
import type { ResourceClaim } from './resource-claim.ts';

/** The ResourceClaim of an entry in `pod.spec.resourceClaims`. */
export type PodClaimName =
  /** The claim; a generated one must belong to the pod (`mustOwn`). */
  | { readonly kind: 'named'; readonly name: string; readonly mustOwn: boolean }
  /** The controller has found that the pod needs no claim. */
  | { readonly kind: 'notNeeded' }
  /** The controller has not created it yet. */
  | { readonly kind: 'notCreated' };

/** Upstream: dynamic-resource-allocation/resourceclaim Name. */
export function podClaimName({ status }: Pod, claim: PodResourceClaim): PodClaimName {
  if (claim.resourceClaimName !== undefined) return { kind: 'named', name: claim.resourceClaimName, mustOwn: false };
  const made = status?.resourceClaimStatuses?.find(({ name }) => name === claim.name);
  if (made === undefined) return { kind: 'notCreated' };
  return made.resourceClaimName === undefined
    ? { kind: 'notNeeded' }
    : { kind: 'named', name: made.resourceClaimName, mustOwn: true };
}

/** The names of the pod's ResourceClaims that exist according to its status. */
export function resourceClaimNames(pod: Pod): string[] {
  const names = (pod.spec.resourceClaims ?? []).flatMap((claim) => {
    const found = podClaimName(pod, claim);
    return found.kind === 'named' ? [found.name] : [];
  });
  const extended = pod.status?.extendedResourceClaimStatus?.resourceClaimName;
  return [...new Set(extended === undefined ? names : [...names, extended])];
}

/** Whether the claim was generated for the pod (upstream: resourceclaim.IsForPod). */
export function isClaimForPod({ metadata }: Pod, claim: ResourceClaim): boolean {
  return (
    claim.metadata.namespace === metadata.namespace &&
    (claim.metadata.ownerReferences ?? []).some(({ controller, uid }) => controller === true && uid === metadata.uid)
  );
}

/** Whether the pod may use the claim now. */
export function isReservedFor({ status }: ResourceClaim, { metadata }: Pod): boolean {
  return (status?.reservedFor ?? []).some(
    ({ apiGroup = '', resource, uid }) => apiGroup === '' && resource === 'pods' && uid === metadata.uid,
  );
}

/** Whether only this pod uses the claim, so that it can be deallocated and allocated again for it. */
export function isOnlyFor({ status }: ResourceClaim, { metadata }: Pod): boolean {
  return (status?.reservedFor ?? []).every(({ uid }) => uid === metadata.uid);
}

/** Upstream's limit of `status.reservedFor`. */
const MAX_CLAIM_CONSUMERS = 256;

/** Whether the claim's list of users has room for another pod. */
export function canBeReserved({ metadata, status }: ResourceClaim): boolean {
  return metadata.deletionTimestamp === undefined && (status?.reservedFor ?? []).length < MAX_CLAIM_CONSUMERS;
}
