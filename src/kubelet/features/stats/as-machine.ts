import type { GroupSample } from './group-samples.ts';

/**
 * Replaces the limits of the root cgroup, which has none, with the capacity of the machine (upstream: cAdvisor's raw
 * handler).
 */
export function asMachine(
  root: GroupSample,
  { memoryBytes, swapBytes }: { memoryBytes: number; swapBytes: number },
): GroupSample {
  return { ...root, limits: { ...root.limits, memoryBytes, memorySwapBytes: swapBytes } };
}
