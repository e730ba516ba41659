import type { Job } from '../../../api/batch/job.ts';
import type { Informer } from '../../../api/client/informer.ts';
import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import { jobs } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { ControlledIndex, controllerRefOf } from '../../controller-runtime/controller-ref.ts';
import type { PodFreeing } from './free-pod.ts';
import { hasTrackingFinalizer, isFinished, isManagedElsewhere } from './job-facts.ts';

/** Whether no job will ever count the pod, so that its finalizer would block it permanently. */
function isOrphan(pod: Pod, all: Informer<Job>): boolean {
  if (!hasTrackingFinalizer(pod)) return false;
  const ref = controllerRefOf(pod);
  if (ref === undefined) return true;
  if (ref.kind !== jobs.kind) return false;
  const job = all.get({ namespace: pod.metadata.namespace, name: ref.name });
  if (job === undefined || job.metadata.uid !== ref.uid) return true;
  return isFinished(job) && !isManagedElsewhere(job);
}

export interface OrphanParts {
  readonly all: Informer<Job>;
  readonly podInformer: Informer<Pod>;
  readonly freeing: PodFreeing;
}

/** The cache may show the end of a job before it shows that the job removed the finalizers. */
const isToBeFreed = ({ all, freeing }: OrphanParts, pod: Pod): boolean => isOrphan(pod, all) && !freeing.has(pod);

/**
 * Finds pods whose finalizer no job will remove: those of deleted or finished jobs, and released ones. Returns the
 * function that stops it.
 */
export function wakeOrphans(parts: OrphanParts, add: (key: string) => void): () => void {
  const { all, podInformer } = parts;
  const index = new ControlledIndex(podInformer);
  const look = (pod: Pod): void => {
    if (isToBeFreed(parts, pod)) add(formatKey(keyOf(pod)));
  };
  const ends = [
    podInformer.addHandlers({ onAdd: look, onUpdate: (_before, after) => look(after) }),
    all.addHandlers({
      onDelete: (job) => index.ofOwner(job).forEach(look),
      onUpdate: (before, after) => {
        if (isFinished(after) && !isFinished(before)) index.ofOwner(after).forEach(look);
      },
    }),
  ];
  return () => ends.forEach((end) => end());
}

export async function syncOrphan(parts: OrphanParts, pod: Pod | undefined): Promise<void> {
  if (pod !== undefined && isToBeFreed(parts, pod)) await parts.freeing.free(pod, { onlyUnchanged: false });
}
