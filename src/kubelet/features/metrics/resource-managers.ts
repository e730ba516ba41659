import type { AgentMetrics } from './agent-metrics.ts';

type Main = Pick<AgentMetrics, 'main'>;

type Source = 'node' | 'pod';

interface AssignmentObserver {
  assigned(assignment: { readonly from: Source; readonly isExclusive: boolean }): void;
  refused(from: Source): void;
}

/** `podLevel` is the gate PodLevelResourceManagers, which adds families. */
interface Counting {
  readonly podLevel: boolean;
}

/** Counts what the CPU manager does (upstream: policy_static.go). */
export function observedCpuManager(
  { main }: Main,
  { podLevel }: Counting,
): AssignmentObserver & { aligned(boundary: 'physical_cpu' | 'uncore_cache', succeeded: boolean): void } {
  return {
    assigned: (assignment) => {
      if (assignment.isExclusive) main.count('kubelet_cpu_manager_pinning_requests_total');
      if (podLevel) countAssignment({ main }, 'cpu', assignment);
    },
    refused: (from) => {
      // Upstream counts containers of a pod when they get CPUs, but does not count the pod.
      if (from === 'node') main.count('kubelet_cpu_manager_pinning_requests_total');
      main.count('kubelet_cpu_manager_pinning_errors_total');
      if (podLevel) main.count('resource_manager_allocation_errors_total', { resource_name: 'cpu', source: from });
    },
    aligned: (boundary, succeeded) => countAlignment({ main }, { scope: 'container', boundary }, succeeded),
  };
}

/** Counts what the memory manager does (upstream: memorymanager/policy_static.go). */
export function observedMemoryManager({ main }: Main, { podLevel }: Counting): AssignmentObserver {
  return {
    assigned: (assignment) => {
      if (assignment.isExclusive) main.count('kubelet_memory_manager_pinning_requests_total');
      if (podLevel) countAssignment({ main }, 'memory', assignment);
    },
    refused: (from) => {
      main.count('kubelet_memory_manager_pinning_requests_total');
      main.count('kubelet_memory_manager_pinning_errors_total');
      if (podLevel) main.count('resource_manager_allocation_errors_total', { resource_name: 'memory', source: from });
    },
  };
}

function countAssignment(
  { main }: Main,
  resource: 'cpu' | 'memory',
  { from, isExclusive }: { readonly from: Source; readonly isExclusive: boolean },
): void {
  main.count('resource_manager_allocations_total', { resource_name: resource, source: from });
  const type = `${from}_${isExclusive ? 'exclusive' : 'shared'}`;
  main.count('resource_manager_container_assignments', { resource_name: resource, assignment_type: type });
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

/** Sets the number of CPUs at the time of a scrape. */
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
