import type { Pod } from '../../api/core/pod.ts';
import { isCriticalPod } from '../../api/pod.ts';
import type { AnyContainer } from '../../api/pod.ts';
import { podQos } from '../../api/qos.ts';
import { quantityValue } from '../../api/quantity.ts';

/** The properties of the node that determine the use of swap. */
export interface SwapNode {
  readonly swapBehavior: '' | 'NoSwap' | 'LimitedSwap';
  readonly cgroupVersion: 1 | 2;
  /** Whether the kernel can limit swap per cgroup. */
  readonly swapControl: boolean;
}

/**
 * Whether the container may use swap (upstream: GetContainerSwapBehavior). It may only on cgroup v2, in a burstable pod
 * that is not critical, and with a memory request that differs from its limit.
 */
export function mayUseSwap(pod: Pod, container: AnyContainer, node: SwapNode): boolean {
  if (
    node.swapBehavior !== 'LimitedSwap' ||
    !node.swapControl ||
    node.cgroupVersion !== 2 ||
    isCriticalPod(pod) ||
    podQos(pod) !== 'Burstable'
  )
    return false;
  const request = quantityValue(container.resources?.requests?.['memory'] ?? '0');
  const limit = quantityValue(container.resources?.limits?.['memory'] ?? '0');
  return request !== limit;
}
