import type { PodQOSClass } from '../../api/core/pod-status.ts';
import type { KubeletConfig } from './config/kubelet-config.ts';

/** How the kernel protects and throttles the memory of pods: feature gate MemoryQoS, on cgroup v2. */
export interface MemoryQos {
  /** Where between request and limit a container is slowed down; 0 to 1. */
  readonly throttlingFactor: number;
  /** Requests are protected from reclaim (memoryReservationPolicy TieredReservation). */
  readonly reservesRequests: boolean;
}

/** undefined where it is off. */
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
 * The control file of cgroup v2 that protects a request: a guaranteed pod's memory is never reclaimed, another's only
 * when nothing else is left (upstream: cm/helpers_linux.go ResourceConfigForPod).
 */
export function protectedMemory(qos: PodQOSClass, requestBytes: number): Readonly<Record<string, string>> {
  return { [qos === 'Guaranteed' ? 'memory.min' : 'memory.low']: String(requestBytes) };
}
