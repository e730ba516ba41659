import type { Pod } from '../../../api/core/pod.ts';
import { withAllocation } from '../../../api/pod-allocation.ts';
import type { PodAllocation } from '../../../api/pod-allocation.ts';
import { podUid } from '../../model/ids.ts';
import type { ResourceCheckpoint } from './resource-checkpoint.ts';

/**
 * Pods with their allocated resources. Only reads the record, so that it can be created before admission, which the
 * allocation manager needs.
 */
export class AllocatedPods {
  readonly #allocated: Pick<ResourceCheckpoint, 'get'>;
  readonly #applied = new WeakMap<Pod, { allocation: PodAllocation; pod: Pod }>();

  constructor(allocated: Pick<ResourceCheckpoint, 'get'>) {
    this.#allocated = allocated;
  }

  /** The pod with its allocated resources; the same object when they are what its spec asks for. */
  apply(pod: Pod): Pod {
    const allocation = this.#allocated.get(podUid(pod.metadata.uid));
    if (allocation === undefined) return pod;
    // Cached, as it runs for every pod at every change of any pod. Pods and allocations are never changed in place.
    const known = this.#applied.get(pod);
    if (known?.allocation === allocation) return known.pod;
    const applied = withAllocation(pod, allocation);
    this.#applied.set(pod, { allocation, pod: applied });
    return applied;
  }
}
