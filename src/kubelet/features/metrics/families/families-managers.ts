// Names, types, labels and buckets are those of upstream's families. The help texts are our own.
import type { MetricFamily } from './metric-family.ts';
import { exponential } from './buckets.ts';

export const managerFamilies = {
  kubelet_container_aligned_compute_resources_count: {
    type: 'counter',
    labels: ['scope', 'boundary'],
    help: 'Containers or pods whose resources were allocated within one core, cache or NUMA node.',
  },
  kubelet_container_aligned_compute_resources_failure_count: {
    type: 'counter',
    labels: ['scope', 'boundary'],
    help: 'Containers or pods whose resources could not be allocated within one core, cache or NUMA node.',
  },
  kubelet_cpu_manager_allocation_per_numa: {
    type: 'gauge',
    labels: ['numa_node'],
    help: 'Exclusive CPUs of containers, by NUMA node.',
  },
  kubelet_cpu_manager_exclusive_cpu_allocation_count: { type: 'gauge', help: 'Exclusive CPUs of containers.' },
  kubelet_cpu_manager_pinning_errors_total: {
    type: 'counter',
    help: 'Requests for exclusive CPUs that could not be served.',
  },
  kubelet_cpu_manager_pinning_requests_total: {
    type: 'counter',
    help: 'Containers that asked for exclusive CPUs.',
  },
  kubelet_cpu_manager_shared_pool_size_millicores: {
    type: 'gauge',
    help: 'CPUs of the shared pool without the reserved ones, in thousandths.',
  },
  kubelet_memory_manager_pinning_errors_total: {
    type: 'counter',
    help: 'Requests for memory of NUMA nodes that could not be served.',
  },
  kubelet_memory_manager_pinning_requests_total: {
    type: 'counter',
    help: 'Containers that asked for memory of NUMA nodes.',
  },
  // The gate PodLevelResourceManagers registers these three. They have no prefix upstream.
  resource_manager_allocation_errors_total: {
    type: 'counter',
    labels: ['resource_name', 'source'],
    help: 'CPUs or memory that the node, or the pool of a pod, could not give.',
  },
  resource_manager_allocations_total: {
    type: 'counter',
    labels: ['resource_name', 'source'],
    help: 'Containers that got CPUs or memory from the node, or from the pool of their pod.',
  },
  resource_manager_container_assignments: {
    type: 'counter',
    labels: ['resource_name', 'assignment_type'],
    help: 'Containers by what they got: exclusive CPUs or memory of the node or of the pod, or a share of that of the pod.',
  },
  kubelet_topology_manager_admission_duration_ms: {
    type: 'histogram',
    buckets: exponential(0.05, 2, 15),
    help: 'Time to allocate the resources of a pod at its admission, in milliseconds.',
  },
  kubelet_topology_manager_admission_errors_total: {
    type: 'counter',
    help: 'Pods whose resources could not be allocated as the topology policy asks.',
  },
  kubelet_topology_manager_admission_requests_total: {
    type: 'counter',
    help: 'Pods for which resources were allocated at their admission.',
  },
} as const satisfies Readonly<Record<string, MetricFamily>>;
