import type { GroupSample } from './group-samples.ts';

/**
 * The root group has no limits of its own: the capacity of the machine is shown as its limit (upstream: cAdvisor's raw
 * handler).
 */
export function asMachine(
  root: GroupSample,
  { memoryBytes, swapBytes }: { memoryBytes: number; swapBytes: number },
): GroupSample {
  return { ...root, limits: { ...root.limits, memoryBytes, memorySwapBytes: swapBytes } };
}
