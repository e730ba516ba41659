import type { AgentMetrics } from './agent-metrics.ts';

type Main = Pick<AgentMetrics, 'main'>;

/** Counts what the CPU manager does (upstream: policy_static.go). */
export function observedCpuManager({ main }: Main): {
  pinned(outcome: { readonly failed: boolean }): void;
  aligned(boundary: 'physical_cpu' | 'uncore_cache', succeeded: boolean): void;
} {
  return {
    pinned: ({ failed }) => {
      main.count('kubelet_cpu_manager_pinning_requests_total');
      if (failed) main.count('kubelet_cpu_manager_pinning_errors_total');
    },
    aligned: (boundary, succeeded) => countAlignment({ main }, { scope: 'container', boundary }, succeeded),
  };
}

/** Counts what the memory manager does (upstream: memorymanager/policy_static.go). */
export function observedMemoryManager({ main }: Main): { pinned(outcome: { readonly failed: boolean }): void } {
  return {
    pinned: ({ failed }) => {
      main.count('kubelet_memory_manager_pinning_requests_total');
      if (failed) main.count('kubelet_memory_manager_pinning_errors_total');
    },
  };
}

/** Counts what the topology manager does (upstream: topology_manager.go, scope_container.go, scope_pod.go). */
export function observedTopologyManager({ main }: Main): {
  admitted(outcome: { readonly durationMs: number; readonly failed: boolean }): void;
  aligned(scope: 'container' | 'pod', succeeded: boolean): void;
} {
  return {
    admitted: ({ durationMs, failed }) => {
      main.count('kubelet_topology_manager_admission_requests_total');
      if (failed) main.count('kubelet_topology_manager_admission_errors_total');
      main.observe('kubelet_topology_manager_admission_duration_ms', {}, durationMs);
    },
    aligned: (scope, succeeded) => countAlignment({ main }, { scope, boundary: 'numa_node' }, succeeded),
  };
}

function countAlignment({ main }: Main, labels: { scope: string; boundary: string }, succeeded: boolean): void {
  if (succeeded) main.count('kubelet_container_aligned_compute_resources_count', labels);
  else main.count('kubelet_container_aligned_compute_resources_failure_count', labels);
}

/** The CPUs at the time of a scrape. */
export function countCpus(
  { main }: Main,
  usage: {
    readonly sharedPool: ReadonlySet<number>;
    readonly exclusive: ReadonlySet<number>;
    readonly perNuma: ReadonlyMap<number, number>;
  },
): void {
  main.set('kubelet_cpu_manager_shared_pool_size_millicores', {}, usage.sharedPool.size * 1000);
  main.set('kubelet_cpu_manager_exclusive_cpu_allocation_count', {}, usage.exclusive.size);
  for (const [node, count] of usage.perNuma)
    main.set('kubelet_cpu_manager_allocation_per_numa', { numa_node: String(node) }, count);
}
