import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import { persistentVolumeClaims, pods } from '../../../api/client/resource-types.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { claimNames } from '../../../api/pod-references.ts';
import { ignoreApiNotFound } from '../../../api/status/api-status-error.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { controllerRefOf } from '../../controller-runtime/controller-ref.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';

const FINALIZER = 'kubernetes.io/pvc-protection';

/**
 * Whether the pod uses the claim's data: it is bound to a node. A claim of an ephemeral volume is released when the pod
 * has ended.
 */
export function usesClaim(pod: Pod, claim: PersistentVolumeClaim): boolean {
  if ((pod.spec.nodeName ?? '') === '' || pod.metadata.namespace !== claim.metadata.namespace) return false;
  const { name } = claim.metadata;
  const isShutDown = pod.metadata.deletionTimestamp !== undefined && pod.metadata.deletionGracePeriodSeconds === 0;
  return (pod.spec.volumes ?? []).some(
    (volume) =>
      volume.persistentVolumeClaim?.claimName === name ||
      (volume.ephemeral !== undefined &&
        !isShutDown &&
        `${pod.metadata.name}-${volume.name}` === name &&
        controllerRefOf(claim)?.uid === pod.metadata.uid),
  );
}

/** Keeps claims that pods use (upstream: persistentvolumeclaim-protection-controller). */
export function createClaimProtectionController({ client, informers, clock, log }: ControllerOptions): Controller {
  const claims = informers.for(persistentVolumeClaims);
  const podInformer = informers.for(pods);
  const byClaim = podInformer.index('claim', (pod) =>
    [...claimNames(pod)].map((name) => formatKey({ namespace: pod.metadata.namespace, name })),
  );
  /** Checks with the server that the claim is unused, because the cache may lack a new pod. */
  const isFree = async (claim: PersistentVolumeClaim): Promise<boolean> => {
    if (byClaim.get(formatKey(keyOf(claim))).some((pod) => usesClaim(pod, claim))) return false;
    const { items } = await client.list(pods, claim.metadata.namespace);
    return !items.some((pod) => usesClaim(pod, claim));
  };
  const sync = async (key: string): Promise<void> => {
    const claim = claims.getByKey(key);
    if (claim === undefined) return;
    const { finalizers = [], deletionTimestamp } = claim.metadata;
    const isHeld = finalizers.includes(FINALIZER);
    if (deletionTimestamp === undefined ? isHeld : !isHeld || !(await isFree(claim))) return;
    const wanted = isHeld ? finalizers.filter((each) => each !== FINALIZER) : [...finalizers, FINALIZER];
    await ignoreApiNotFound(
      client.update(persistentVolumeClaims, { ...claim, metadata: { ...claim.metadata, finalizers: wanted } }),
    );
  };
  const queue = new RateLimitingQueue({ name: 'pvc-protection', clock, log, workers: 1, sync });
  const wake = (claim: PersistentVolumeClaim): void => queue.add(formatKey(keyOf(claim)));
  const wakeClaimsOf = (pod: Pod): void => {
    for (const name of claimNames(pod)) {
      const claim = claims.get({ namespace: pod.metadata.namespace, name });
      if (claim?.metadata.deletionTimestamp !== undefined) wake(claim);
    }
  };
  const ends = [
    claims.addHandlers({ onAdd: wake, onUpdate: (_, after) => wake(after) }),
    podInformer.addHandlers({
      onUpdate: (_, after) => after.metadata.deletionTimestamp !== undefined && wakeClaimsOf(after),
      onDelete: wakeClaimsOf,
    }),
  ];
  return runController({
    name: 'persistent volume claim protection controller',
    log,
    queues: [queue],
    informers: [claims, podInformer],
    ends,
  });
}
