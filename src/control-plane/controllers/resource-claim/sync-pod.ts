import type { ApiClient } from '../../../api/client/api-client.ts';
import type { Informer } from '../../../api/client/informer.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import { pods, resourceClaims } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { ResourceClaim } from '../../../api/resource/resource-claim.ts';
import type { ResourceClaimTemplate } from '../../../api/resource/resource-claim-template.ts';
import type { ControlledIndex } from '../../controller-runtime/controller-ref.ts';
import type { EventRecorder } from '../../controller-runtime/event-recorder.ts';
import type { ClaimMetrics } from '../../controller-runtime/claim-metrics.ts';
import { hasAdminAccess } from './count-claims.ts';
import { planPod } from './plan-pod.ts';

export interface PodSyncParts {
  readonly client: ApiClient;
  readonly podInformer: Informer<Pod>;
  readonly claims: Informer<ResourceClaim>;
  readonly templates: Informer<ResourceClaimTemplate>;
  readonly byOwner: ControlledIndex<ResourceClaim>;
  readonly recorder: EventRecorder;
  readonly claimMetrics?: ClaimMetrics | undefined;
  /** The created claims that are not in the cache yet, by pod UID. */
  readonly created: Map<string, Map<string, ResourceClaim>>;
}

/** Syncs a pod: creates missing claims and records them in the status. */
export function createPodSync(parts: PodSyncParts): (key: string) => Promise<void> {
  const { client, podInformer, claims, templates, byOwner, recorder, created, claimMetrics } = parts;
  const generatedFor = (pod: Pod): readonly ResourceClaim[] => [
    ...byOwner.ofOwner(pod),
    ...(created.get(pod.metadata.uid)?.values() ?? []),
  ];
  const create = async (claim: ResourceClaim): Promise<ResourceClaim> => {
    let isError = true;
    try {
      const made = await client.create(resourceClaims, claim);
      isError = false;
      return made;
    } finally {
      claimMetrics?.created('resourceclaim_controller', isError, hasAdminAccess(claim));
    }
  };
  const reserve = async (claim: ResourceClaim, { metadata: { name, uid } }: Pod): Promise<void> => {
    const reservedFor = [...(claim.status?.reservedFor ?? []), { resource: 'pods', name, uid }];
    const reserved = { ...claim, status: { ...claim.status, reservedFor } };
    await client.update(resourceClaims, reserved, { subresource: 'status' });
  };
  return async (key: string): Promise<void> => {
    const pod = podInformer.getByKey(key);
    if (pod === undefined) return;
    const { namespace, uid } = pod.metadata;
    const plan = planPod(pod, {
      claim: (name) => claims.get({ namespace, name }) ?? created.get(uid)?.get(name),
      template: (name) => templates.get({ namespace, name }),
      generated: generatedFor(pod),
    });
    const statuses = [...plan.statuses];
    for (const { podClaim, claim } of plan.creates) {
      const made = await create(claim);
      const known = created.get(uid) ?? new Map<string, ResourceClaim>();
      if (claims.get(keyOf(made)) === undefined) created.set(uid, known.set(made.metadata.name, made));
      statuses.push({ name: podClaim, resourceClaimName: made.metadata.name });
    }
    if (statuses.length > 0) {
      const body = { metadata: { uid }, status: { resourceClaimStatuses: statuses } };
      await client.patch(pods, keyOf(pod), { type: 'strategic', body }, { subresource: 'status' });
    }
    for (const claim of plan.reserves) await reserve(claim, pod);
    if (plan.failure === undefined) return;
    recorder.event(pods, pod, { type: 'Warning', reason: 'FailedResourceClaimCreation', message: plan.failure });
    throw new Error(`pod ${key}, ${plan.failure}`);
  };
}
