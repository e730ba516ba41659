import type { Pod } from '../../../api/core/pod.ts';
import { isTerminalPod } from '../../../api/pod.ts';
import { CLAIM_FINALIZER } from '../../../api/resource/device-config.ts';
import type { ResourceClaim, ResourceClaimConsumerReference } from '../../../api/resource/resource-claim.ts';

export interface ClaimPlan {
  /** The status with the remaining users. Undefined means unchanged. */
  readonly status?: NonNullable<ResourceClaim['status']>;
  /** Whether to remove the finalizer after the status is written. */
  readonly release: boolean;
  /** Whether to delete the claim, because it was generated for a pod that will not run any more. */
  readonly remove: boolean;
}

/** Whether the pod does not use its claims any more (upstream: isPodDone). */
export function isPodDone(pod: Pod): boolean {
  return isTerminalPod(pod) || (pod.metadata.deletionTimestamp !== undefined && (pod.spec.nodeName ?? '') === '');
}

export const isPodReference = ({ apiGroup = '', resource }: ResourceClaimConsumerReference): boolean =>
  apiGroup === '' && resource === 'pods';

/** Returns the pod for which the claim was generated. */
export function owningPod({ metadata }: ResourceClaim): { readonly name: string; readonly uid: string } | undefined {
  return (metadata.ownerReferences ?? []).find(
    ({ controller, apiVersion, kind }) => controller === true && apiVersion === 'v1' && kind === 'Pod',
  );
}

/**
 * Plans the clean-up of a claim whose users may be gone. `podOf` returns the current pod with a name (upstream:
 * resourceclaim controller syncClaim).
 */
export function planClaim(claim: ResourceClaim, podOf: (name: string) => Pod | undefined): ClaimPlan {
  const reserved = claim.status?.reservedFor ?? [];
  const remaining = reserved.filter((reference) => {
    if (!isPodReference(reference)) return true;
    const pod = podOf(reference.name);
    return pod?.metadata.uid === reference.uid && !isPodDone(pod);
  });
  const isOurs = (claim.metadata.finalizers ?? []).includes(CLAIM_FINALIZER);
  const isUnused = remaining.length === 0;
  const frees = isOurs && isUnused && (reserved.length > 0 || claim.metadata.deletionTimestamp !== undefined);
  const { reservedFor: _, allocation, ...rest } = claim.status ?? {};
  const changes = remaining.length < reserved.length || (frees && allocation !== undefined);
  const owner = owningPod(claim);
  const ownerNow = owner === undefined ? undefined : podOf(owner.name);
  return {
    ...(changes && {
      status: {
        ...rest,
        ...(allocation !== undefined && !frees && { allocation }),
        ...(remaining.length > 0 && { reservedFor: remaining }),
      },
    }),
    // The scheduler adds the finalizer before the allocation. A claim with only one of them is not changed.
    release: frees,
    remove:
      isUnused &&
      claim.metadata.deletionTimestamp === undefined &&
      ownerNow !== undefined &&
      (ownerNow.metadata.uid !== owner?.uid || isPodDone(ownerNow)),
  };
}
