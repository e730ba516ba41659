import type { ProcessUsage } from '../../ports/process-usage.ts';
import type { AgentMetrics } from './agent-metrics.ts';

export function observeProcess({ main, probes, slis }: AgentMetrics, ownUsage: () => ProcessUsage): void {
  const { startedAtMs } = ownUsage();
  for (const set of [probes, slis]) set.set('process_start_time_seconds', {}, startedAtMs / 1000);
  main.collect(() => {
    const own = ownUsage();
    main.setTotal('process_cpu_seconds_total', {}, own.cpuSeconds);
    main.setTotal('process_network_receive_bytes_total', {}, own.receivedBytes);
    main.setTotal('process_network_transmit_bytes_total', {}, own.sentBytes);
    main.set('process_open_fds', {}, own.openFiles);
    main.set('process_max_fds', {}, own.openFilesLimit);
    main.set('process_resident_memory_bytes', {}, own.residentBytes);
    main.set('process_virtual_memory_bytes', {}, own.virtualBytes);
    main.set('process_virtual_memory_max_bytes', {}, own.virtualLimitBytes);
    main.set('process_start_time_seconds', {}, own.startedAtMs / 1000);
    main.set('nodejs_heap_size_total_bytes', {}, own.heapTotalBytes);
    main.set('nodejs_heap_size_used_bytes', {}, own.heapUsedBytes);
    main.set('nodejs_eventloop_utilization_ratio', {}, own.eventLoopUtilization);
  });
}
