import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import { pods, resourceClaims, resourceClaimTemplates } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { resourceClaimNames } from '../../../api/resource/pod-claims.ts';
import type { ResourceClaim } from '../../../api/resource/resource-claim.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import { ControlledIndex } from '../../controller-runtime/controller-ref.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { createEventRecorder } from '../../controller-runtime/event-recorder.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import type { ClaimMetrics } from '../../controller-runtime/claim-metrics.ts';
import { countClaims } from './count-claims.ts';
import { isPodDone, owningPod } from './plan-claim.ts';
import { createClaimSync } from './sync-claim.ts';
import { createPodSync } from './sync-pod.ts';

const WORKERS = 10;

/**
 * Creates claims from templates for pods, and frees and removes claims whose pods are done (upstream:
 * resourceclaim-controller).
 */
export function createResourceClaimController(
  options: ControllerOptions & { readonly claimMetrics?: ClaimMetrics },
): Controller {
  const { client, informers, clock, log, claimMetrics } = options;
  const podInformer = informers.for(pods);
  const claims = informers.for(resourceClaims);
  const templates = informers.for(resourceClaimTemplates);
  const byOwner = new ControlledIndex(claims);
  const usersOfClaim = podInformer.index('resourceClaim', (pod) =>
    resourceClaimNames(pod).map((name) => formatKey({ namespace: pod.metadata.namespace, name })),
  );
  const usersOfTemplate = podInformer.index('resourceClaimTemplate', (pod) =>
    (pod.spec.resourceClaims ?? []).flatMap(({ resourceClaimTemplateName: name }) =>
      name === undefined ? [] : [formatKey({ namespace: pod.metadata.namespace, name })],
    ),
  );
  const recorder = createEventRecorder({ client, clock, log, component: 'resource_claim' });
  /** The created claims that are not in the cache yet, by pod UID. */
  const created = new Map<string, Map<string, ResourceClaim>>();

  const syncPod = createPodSync({ client, podInformer, claims, templates, byOwner, recorder, created, claimMetrics });
  claimMetrics?.countWith(() => countClaims(claims.list()));
  const syncClaim = createClaimSync({ client, podInformer, claims });
  const tolerant =
    (sync: (key: string) => Promise<void>) =>
    async (key: string): Promise<void> => {
      try {
        await sync(key);
      } catch (error) {
        if (!isApiError(error, 'NotFound')) throw error;
      }
    };
  const common = { clock, log, workers: WORKERS };
  const podQueue = new RateLimitingQueue({ ...common, name: 'resource-claim-pods', sync: tolerant(syncPod) });
  const claimQueue = new RateLimitingQueue({ ...common, name: 'resource-claims', sync: tolerant(syncClaim) });
  const wakePod = (pod: Pod): void => podQueue.add(formatKey(keyOf(pod)));
  const wakeClaimsOf = (pod: Pod): void => {
    const { namespace } = pod.metadata;
    for (const name of resourceClaimNames(pod)) claimQueue.add(formatKey({ namespace, name }));
    for (const claim of byOwner.ofOwner(pod)) claimQueue.add(formatKey(keyOf(claim)));
  };
  const podChanged = (pod: Pod): void => {
    const usesClaims =
      (pod.spec.resourceClaims ?? []).length > 0 || pod.status?.extendedResourceClaimStatus !== undefined;
    if (!usesClaims) return;
    if (isPodDone(pod)) wakeClaimsOf(pod);
    else if (pod.metadata.deletionTimestamp === undefined) wakePod(pod);
  };
  const claimChanged = (claim: ResourceClaim): void => {
    const owner = owningPod(claim)?.uid;
    const known = owner === undefined ? undefined : created.get(owner);
    if (known?.delete(claim.metadata.name) === true && known.size === 0) created.delete(owner ?? '');
    const key = formatKey(keyOf(claim));
    claimQueue.add(key);
    for (const pod of usersOfClaim.get(key)) wakePod(pod);
  };
  const ends = [
    podInformer.addHandlers({
      onAdd: podChanged,
      onUpdate: (_before, after) => podChanged(after),
      onDelete: (pod) => {
        created.delete(pod.metadata.uid);
        wakeClaimsOf(pod);
      },
    }),
    claims.addHandlers({
      onAdd: claimChanged,
      onUpdate: (_before, after) => claimChanged(after),
      onDelete: (claim) => {
        claimChanged(claim);
        // The pod of a deleted generated claim gets a new one.
        const { name: pod = '' } = owningPod(claim) ?? {};
        podQueue.add(formatKey({ namespace: claim.metadata.namespace, name: pod }));
      },
    }),
    templates.addHandlers({
      onAdd: (template) => usersOfTemplate.get(formatKey(keyOf(template))).forEach(wakePod),
    }),
  ];
  return runController({
    name: 'resource claim controller',
    log,
    queues: [podQueue, claimQueue],
    informers: [podInformer, claims, templates],
    ends,
  });
}
