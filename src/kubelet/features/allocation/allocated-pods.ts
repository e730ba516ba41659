import type { Pod } from '../../../api/core/pod.ts';
import { withAllocation } from '../../../api/pod-allocation.ts';
import type { PodAllocation } from '../../../api/pod-allocation.ts';
import { podUid } from '../../model/ids.ts';
import type { ResourceCheckpoint } from './resource-checkpoint.ts';

/**
 * Supplies pods with their allocated resources. It only reads the record, so it can be created before admission, which
 * the allocation manager needs.
 */
export class AllocatedPods {
  readonly #allocated: Pick<ResourceCheckpoint, 'get'>;
  readonly #applied = new WeakMap<Pod, { allocation: PodAllocation; pod: Pod }>();

  constructor(allocated: Pick<ResourceCheckpoint, 'get'>) {
    this.#allocated = allocated;
  }

  /** Returns the pod with its allocated resources. It is the same object if the spec requests these resources. */
  apply(pod: Pod): Pod {
    const allocation = this.#allocated.get(podUid(pod.metadata.uid));
    if (allocation === undefined) return pod;
    // Cached, because it runs for every pod at every change of a pod. Pods and allocations are immutable.
    const known = this.#applied.get(pod);
    if (known?.allocation === allocation) return known.pod;
    const applied = withAllocation(pod, allocation);
    this.#applied.set(pod, { allocation, pod: applied });
    return applied;
  }
}
