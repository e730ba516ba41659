import type { ApiClient } from '../../../api/client/api-client.ts';
import type { Informer } from '../../../api/client/informer.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import type { ObjectKey } from '../../../api/client/resource-type.ts';
import { pods, resourceClaims } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { CLAIM_FINALIZER } from '../../../api/resource/device-config.ts';
import type { ResourceClaim } from '../../../api/resource/resource-claim.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import { isPodReference, owningPod, planClaim } from './plan-claim.ts';

export interface ClaimSyncParts {
  readonly client: ApiClient;
  readonly podInformer: Informer<Pod>;
  readonly claims: Informer<ResourceClaim>;
}

/** Syncs a claim: removes users that are done, and deallocates or deletes an unused claim. */
export function createClaimSync({ client, podInformer, claims }: ClaimSyncParts): (key: string) => Promise<void> {
  /** Returns the pods in a claim's reservations from the cache. The server is queried for missing ones. */
  const podsOf = async (claim: ResourceClaim): Promise<ReadonlyMap<string, Pod>> => {
    const { namespace } = claim.metadata;
    const found = new Map<string, Pod>();
    const names = (claim.status?.reservedFor ?? []).filter(isPodReference).map(({ name }) => name);
    for (const name of new Set(names)) {
      const pod = podInformer.get({ namespace, name }) ?? (await fetchPod({ namespace, name }));
      if (pod !== undefined) found.set(name, pod);
    }
    const owner = owningPod(claim)?.name;
    const pod = owner === undefined ? undefined : podInformer.get({ namespace, name: owner });
    if (owner !== undefined && pod !== undefined) found.set(owner, pod);
    return found;
  };
  const fetchPod = async (key: ObjectKey): Promise<Pod | undefined> => {
    try {
      return await client.get(pods, key);
    } catch (error) {
      if (isApiError(error, 'NotFound')) return undefined;
      throw error;
    }
  };
  return async (key: string): Promise<void> => {
    const claim = claims.getByKey(key);
    if (claim === undefined) return;
    const known = await podsOf(claim);
    const plan = planClaim(claim, (name) => known.get(name));
    let current = claim;
    if (plan.status !== undefined)
      current = await client.update(resourceClaims, { ...claim, status: plan.status }, { subresource: 'status' });
    if (plan.release) {
      const finalizers = (current.metadata.finalizers ?? []).filter((each) => each !== CLAIM_FINALIZER);
      await client.update(resourceClaims, { ...current, metadata: { ...current.metadata, finalizers } });
    }
    if (plan.remove) await client.delete(resourceClaims, keyOf(claim), { preconditions: { uid: claim.metadata.uid } });
  };
}
