import type { Job } from '../../../api/batch/job.ts';
import type { ApiClient } from '../../../api/client/api-client.ts';
import type { Informer } from '../../../api/client/informer.ts';
import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import { jobs } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { ControlledIndex, controllerRefOf } from '../../controller-runtime/controller-ref.ts';
import { freePod } from './free-pod.ts';
import { hasTrackingFinalizer, isFinished, isManagedElsewhere } from './job-facts.ts';

/** Whether no job will ever count the pod, so that its finalizer would hold it permanently. */
function isOrphan(pod: Pod, all: Informer<Job>): boolean {
  if (!hasTrackingFinalizer(pod)) return false;
  const ref = controllerRefOf(pod);
  if (ref === undefined) return true;
  if (ref.kind !== jobs.kind) return false;
  const job = all.get({ namespace: pod.metadata.namespace, name: ref.name });
  if (job === undefined || job.metadata.uid !== ref.uid) return true;
  return isFinished(job) && !isManagedElsewhere(job);
}

/**
 * Finds pods whose finalizer no job will remove: those of jobs that are gone or finished, and those that were let go.
 * Returns what ends it.
 */
export function wakeOrphans(all: Informer<Job>, pods: Informer<Pod>, add: (key: string) => void): () => void {
  const index = new ControlledIndex(pods);
  const look = (pod: Pod): void => {
    if (isOrphan(pod, all)) add(formatKey(keyOf(pod)));
  };
  const ends = [
    pods.addHandlers({ onAdd: look, onUpdate: (_before, after) => look(after) }),
    all.addHandlers({
      onDelete: (job) => index.ofOwner(job).forEach(look),
      onUpdate: (before, after) => {
        if (isFinished(after) && !isFinished(before)) index.ofOwner(after).forEach(look);
      },
    }),
  ];
  return () => ends.forEach((end) => end());
}

export async function syncOrphan(client: ApiClient, all: Informer<Job>, pod: Pod | undefined): Promise<void> {
  if (pod !== undefined && isOrphan(pod, all)) await freePod(client, pod, { onlyUnchanged: false });
}
