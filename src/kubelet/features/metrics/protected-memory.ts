import type { AgentMetrics } from './agent-metrics.ts';

/**
 * Sets the memory that the cgroups of the QoS classes protect (upstream: qos_container_manager_linux.go setMemoryQoS).
 */
export function noteProtectedMemory(
  { main }: Pick<AgentMetrics, 'main'>,
  { min, low }: { readonly min: number; readonly low: number },
): void {
  main.set('kubelet_memory_qos_node_memory_min_bytes', {}, min);
  main.set('kubelet_memory_qos_node_memory_low_bytes', {}, low);
}
