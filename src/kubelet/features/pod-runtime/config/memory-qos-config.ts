import type { Pod } from '../../../../api/core/pod.ts';
import type { AnyContainer } from '../../../../api/pod.ts';
import { podQos } from '../../../../api/qos.ts';
import { bytesOf } from '../../../model/actual-resources.ts';
import type { MemoryQos } from '../../../model/memory-qos.ts';
import { protectedMemory } from '../../../model/memory-qos.ts';

const PAGE_BYTES = 4096;

/**
 * The control files of a container with MemoryQoS (upstream: kuberuntime_container_linux.go
 * generateLinuxContainerResources). `memoryForPodsBytes`: what takes the place of a missing limit; 0 when unknown.
 */
export function memoryQosConfig(
  pod: Pod,
  container: AnyContainer,
  { memoryQos, memoryForPodsBytes }: { memoryQos: MemoryQos; memoryForPodsBytes: number },
): Readonly<Record<string, string>> {
  const request = bytesOf(container.resources?.requests, 'memory');
  const limit = bytesOf(container.resources?.limits, 'memory');
  const isReserved = request > 0 && memoryQos.reservesRequests;
  // Written in any case: an earlier policy may have protected the memory.
  const reserved = isReserved ? protectedMemory(podQos(pod), request) : { 'memory.min': '0', 'memory.low': '0' };
  const high = request === limit ? 0 : throttledAt(request, limit || memoryForPodsBytes, memoryQos.throttlingFactor);
  return high > request ? { ...reserved, 'memory.high': String(high) } : reserved;
}

/** In whole pages; 0 where there is nothing to compute it from. */
function throttledAt(request: number, limit: number, factor: number): number {
  return limit <= 0 ? 0 : Math.floor((request + (limit - request) * factor) / PAGE_BYTES) * PAGE_BYTES;
}
