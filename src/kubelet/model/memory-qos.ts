import type { PodQOSClass } from '../../api/core/pod-status.ts';
import type { KubeletConfig } from './config/kubelet-config.ts';

/** How the kernel protects and throttles the memory of pods (feature gate MemoryQoS, on cgroup v2). */
export interface MemoryQos {
  /** The point between request and limit at which a container is throttled; 0 to 1. */
  readonly throttlingFactor: number;
  /** Whether requests are protected from reclaim (memoryReservationPolicy TieredReservation). */
  readonly reservesRequests: boolean;
}

/** Returns the settings; undefined if the gate is off. */
export function memoryQosOf(
  { cgroups, gates }: Pick<KubeletConfig, 'cgroups' | 'gates'>,
  cgroupVersion: 1 | 2,
): MemoryQos | undefined {
  if (cgroupVersion !== 2 || !gates.enabled('MemoryQoS')) return undefined;
  return {
    throttlingFactor: cgroups.memoryThrottlingFactor,
    reservesRequests: cgroups.memoryReservationPolicy === 'TieredReservation',
  };
}

/**
 * Returns the control file of cgroup v2 that protects a request. The memory of a guaranteed pod is never reclaimed, and
 * that of another pod only if no other memory is left (upstream: cm/helpers_linux.go ResourceConfigForPod).
 */
export function protectedMemory(qos: PodQOSClass, requestBytes: number): Readonly<Record<string, string>> {
  return { [qos === 'Guaranteed' ? 'memory.min' : 'memory.low']: String(requestBytes) };
}
