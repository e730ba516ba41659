import type { Pod } from '../../../api/core/pod.ts';
import type { DeviceTaint } from '../../../api/resource/device-config.ts';
import { toleratesDeviceTaint } from '../../../api/resource/device-tolerations.ts';
import { isClaimForPod, isReservedFor, podClaimName } from '../../../api/resource/pod-claims.ts';
import type { DeviceRequestAllocationResult, ResourceClaim } from '../../../api/resource/resource-claim.ts';
import type { ResourceSlice } from '../../../api/resource/resource-slice.ts';
import { parseTime } from '../../../api/time.ts';

export const poolKey = ({ driver, pool }: Pick<DeviceRequestAllocationResult, 'driver' | 'pool'>): string =>
  `${driver}/${pool}`;

/** Returns the claims of the pod that are reserved for it. */
export function claimsInUse(pod: Pod, claimOf: (name: string) => ResourceClaim | undefined): ResourceClaim[] {
  return (pod.spec.resourceClaims ?? []).flatMap((podClaim) => {
    const found = podClaimName(pod, podClaim);
    const claim = found.kind === 'named' ? claimOf(found.name) : undefined;
    if (claim === undefined || found.kind !== 'named') return [];
    return (found.mustOwn && !isClaimForPod(pod, claim)) || !isReservedFor(claim, pod) ? [] : [claim];
  });
}

/** Returns the NoExecute taints of an allocated device, from the newest generation of its pool. */
export function evictingDeviceTaints(
  { device: name }: DeviceRequestAllocationResult,
  slices: readonly ResourceSlice[],
): readonly DeviceTaint[] {
  const newest = Math.max(...slices.map(({ spec }) => Number(spec.pool.generation)));
  for (const { spec } of slices) {
    if (Number(spec.pool.generation) !== newest) continue;
    const device = spec.devices?.find((each) => each.name === name);
    if (device !== undefined) return (device.taints ?? []).filter(({ effect }) => effect === 'NoExecute');
  }
  return [];
}

/**
 * Returns when the pods of the claims must be evicted, in milliseconds since the epoch, or undefined if they may stay.
 * The time starts when a taint was added; the shortest limited toleration decides (upstream: claimEvictionTime).
 */
export function planDeviceEviction(
  claims: readonly ResourceClaim[],
  slicesOf: (pool: string) => readonly ResourceSlice[],
  nowMs: number,
): number | undefined {
  let whenMs: number | undefined;
  for (const { status } of claims)
    for (const result of status?.allocation?.devices.results ?? [])
      for (const taint of evictingDeviceTaints(result, slicesOf(poolKey(result)))) {
        const staysMs = toleratedMs(result, taint);
        const leavesMs = (parseTime(taint.timeAdded) ?? nowMs) + staysMs;
        if (staysMs < Infinity) whenMs = Math.min(whenMs ?? Infinity, leavesMs);
      }
  return whenMs;
}

/** Returns for how long the claim tolerates the taint. */
function toleratedMs({ tolerations = [] }: DeviceRequestAllocationResult, taint: DeviceTaint): number {
  const used = tolerations.filter(
    (toleration) => toleration.effect === 'NoExecute' && toleratesDeviceTaint(toleration, taint),
  );
  if (used.length === 0) return 0;
  if (used.some(({ tolerationSeconds }) => tolerationSeconds === undefined)) return Infinity;
  return Math.min(...used.map(({ tolerationSeconds = 0 }) => Math.max(Number(tolerationSeconds), 0) * 1000));
}
