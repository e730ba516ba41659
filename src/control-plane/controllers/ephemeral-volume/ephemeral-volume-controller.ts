import { errorMessage } from '../../../base/errors.ts';
import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import { persistentVolumeClaims, pods } from '../../../api/client/resource-types.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { newControllerRef } from '../../controller-runtime/controller-ref.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { createEventRecorder } from '../../controller-runtime/event-recorder.ts';
import { isNamespaceTerminating } from '../../controller-runtime/namespace-terminating.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { ephemeralVolumes, planEphemeralClaims } from './plan-ephemeral-claims.ts';

/** The number of concurrent syncs (upstream: --concurrent-ephemeralvolume-syncs). */
const WORKERS = 5;

/** Creates the claims of generic ephemeral volumes: one for each such volume of a pod, owned by the pod. */
export function createEphemeralVolumeController(options: ControllerOptions): Controller {
  const { client, informers, clock, log } = options;
  const podInformer = informers.for(pods);
  const claims = informers.for(persistentVolumeClaims);
  const recorder = createEventRecorder({ ...options, component: 'ephemeral_volume' });
  const byClaim = podInformer.index('ephemeralClaim', (pod) =>
    ephemeralVolumes(pod).map(({ name }) =>
      formatKey({ namespace: pod.metadata.namespace, name: `${pod.metadata.name}-${name}` }),
    ),
  );
  const sync = async (key: string): Promise<void> => {
    const pod = podInformer.getByKey(key);
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return;
    const { create, conflict } = planEphemeralClaims(pod, newControllerRef(pods, pod), (name) =>
      claims.get({ namespace: pod.metadata.namespace, name }),
    );
    const fail = (volume: string, why: string): void => {
      recorder.event(pods, pod, {
        type: 'Warning',
        reason: 'FailedBinding',
        message: `ephemeral volume ${volume}: ${why}`,
      });
    };
    for (const { volume, claim } of create) {
      try {
        await client.create(persistentVolumeClaims, claim);
      } catch (error) {
        if (isNamespaceTerminating(error)) return;
        fail(volume, `create PVC ${claim.metadata.name}: ${errorMessage(error)}`);
        throw error;
      }
    }
    if (conflict === undefined) return;
    fail(conflict.volume, conflict.why);
    // Retried with back-off, as in upstream: the conflicting claim may be deleted.
    throw new ApiStatusError('Conflict', conflict.why);
  };
  const queue = new RateLimitingQueue({ name: 'ephemeral_volume', clock, log, workers: WORKERS, sync });
  const wake = (pod: Pod): void => {
    if (pod.metadata.deletionTimestamp === undefined && ephemeralVolumes(pod).length > 0)
      queue.add(formatKey(keyOf(pod)));
  };
  const ends = [
    podInformer.addHandlers({ onAdd: wake }),
    claims.addHandlers({
      onDelete: (claim: PersistentVolumeClaim) => byClaim.get(formatKey(keyOf(claim))).forEach(wake),
    }),
  ];
  return runController({
    name: 'ephemeral volume controller',
    log,
    queues: [queue],
    informers: [podInformer, claims],
    ends,
  });
}
