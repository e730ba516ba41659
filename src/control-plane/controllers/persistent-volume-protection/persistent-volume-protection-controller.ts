import { persistentVolumes } from '../../../api/client/resource-types.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';

const FINALIZER = 'kubernetes.io/pv-protection';

/** Keeps volumes that are bound (upstream: persistentvolume-protection-controller). */
export function createVolumeProtectionController({ client, informers, clock, log }: ControllerOptions): Controller {
  const volumes = informers.for(persistentVolumes);
  const sync = async (name: string): Promise<void> => {
    const volume = volumes.get({ namespace: '', name });
    if (volume === undefined) return;
    const { finalizers = [], deletionTimestamp } = volume.metadata;
    const isHeld = finalizers.includes(FINALIZER);
    const shouldHold = deletionTimestamp === undefined || volume.status?.phase === 'Bound';
    // For a terminating volume the finalizer can only be removed.
    if (isHeld === shouldHold || (!isHeld && deletionTimestamp !== undefined)) return;
    const wanted = shouldHold ? [...finalizers, FINALIZER] : finalizers.filter((each) => each !== FINALIZER);
    try {
      await client.update(persistentVolumes, { ...volume, metadata: { ...volume.metadata, finalizers: wanted } });
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error;
    }
  };
  const queue = new RateLimitingQueue({ name: 'pv-protection', clock, log, workers: 1, sync });
  const end = volumes.addHandlers({
    onAdd: ({ metadata }) => queue.add(metadata.name),
    onUpdate: (_, { metadata }) => queue.add(metadata.name),
  });
  return runController({
    name: 'persistent volume protection controller',
    log,
    queues: [queue],
    informers: [volumes],
    ends: [end],
  });
}
