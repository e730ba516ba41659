import type { Pod } from '../../../../api/core/pod.ts';
import type { AnyContainer } from '../../../../api/pod.ts';
import { podQos } from '../../../../api/qos.ts';
import { bytesOf } from '../../../model/actual-resources.ts';
import type { MemoryQos } from '../../../model/memory-qos.ts';
import { protectedMemory } from '../../../model/memory-qos.ts';

const PAGE_BYTES = 4096;

/**
 * Computes the cgroup files of a container with MemoryQoS (upstream: kuberuntime_container_linux.go
 * generateLinuxContainerResources). `memoryForPodsBytes` replaces a missing limit; 0 means unknown.
 */
export function memoryQosConfig(
  pod: Pod,
  container: AnyContainer,
  { memoryQos, memoryForPodsBytes }: { memoryQos: MemoryQos; memoryForPodsBytes: number },
): Readonly<Record<string, string>> {
  const request = bytesOf(container.resources?.requests, 'memory');
  const limit = bytesOf(container.resources?.limits, 'memory');
  const isReserved = request > 0 && memoryQos.reservesRequests;
  // The value is always written, because an earlier policy may have protected the memory.
  const reserved = isReserved ? protectedMemory(podQos(pod), request) : { 'memory.min': '0', 'memory.low': '0' };
  const high = request === limit ? 0 : throttledAt(request, limit || memoryForPodsBytes, memoryQos.throttlingFactor);
  return high > request ? { ...reserved, 'memory.high': String(high) } : reserved;
}

/** Returns the throttling threshold in whole pages, or 0 if it cannot be computed. */
function throttledAt(request: number, limit: number, factor: number): number {
  return limit <= 0 ? 0 : Math.floor((request + (limit - request) * factor) / PAGE_BYTES) * PAGE_BYTES;
}
