// Names, types, labels and buckets are those of upstream's families, because tools, dashboards and alerts match them.
// The help texts are our own.
import type { MetricFamily } from './metric-family.ts';
import { defaultBuckets, podStartup, resize, exponential } from './buckets.ts';

export const podFamilies = {
  kubelet_active_pods: {
    type: 'gauge',
    labels: ['static'],
    help: 'Pods that hold resources of the node, as counted when a new pod is admitted; `static` is true for pods that are not from the API server.',
  },
  kubelet_admission_rejections_total: {
    type: 'counter',
    help: 'Pods that admission rejected, by reason.',
    labels: ['reason'],
  },
  kubelet_cgroup_manager_duration_seconds: {
    type: 'histogram',
    labels: ['operation_type'],
    buckets: defaultBuckets,
    help: 'Duration of cgroup operations in seconds, by operation.',
  },
  kubelet_memory_qos_node_memory_low_bytes: {
    type: 'gauge',
    labels: [],
    help: 'Memory that is protected by memory.low for burstable pods, in bytes. Only with the feature gate MemoryQoS.',
  },
  kubelet_memory_qos_node_memory_min_bytes: {
    type: 'gauge',
    labels: [],
    help: 'Memory that is protected by memory.min for guaranteed pods, in bytes. Only with the feature gate MemoryQoS.',
  },
  kubelet_container_requested_resizes_total: {
    type: 'counter',
    labels: ['resource', 'requirement', 'operation'],
    help: 'Resizes requested for containers, each resource counted on its own. `requirement` is requests or limits; `operation` is add, remove, increase or decrease.',
  },
  kubelet_containers_per_pod_count: {
    type: 'histogram',
    help: 'Containers in each pod.',
    buckets: exponential(1, 2, 5),
  },
  kubelet_desired_pods: {
    type: 'gauge',
    labels: ['static'],
    help: 'Pods that the sources want on this node; `static` is true for pods that are not from the API server.',
  },
  kubelet_first_network_pod_start_sli_duration_seconds: {
    type: 'gauge',
    help: 'Time in seconds from the creation of the first pod with its own network until all its containers had started, without image pulls and init containers.',
  },
  kubelet_managed_ephemeral_containers: {
    type: 'gauge',
    help: 'Ephemeral containers in the pods of this node.',
  },
  kubelet_mirror_pods: {
    type: 'gauge',
    help: 'Mirror pods of this node in the API server, also those whose static pod ends.',
  },
  kubelet_orphaned_runtime_pods_total: {
    type: 'counter',
    help: 'Pods found in the container runtime that no source knows. Usually a pod was force-deleted, or its manifest removed, while the agent was down.',
  },
  kubelet_pleg_last_seen_seconds: {
    type: 'gauge',
    help: 'Time at which the PLEG was last active, in seconds since the epoch.',
  },
  kubelet_pleg_pod_relist_duration_seconds: {
    type: 'histogram',
    help: 'Time to read one pod from the container runtime, in seconds.',
    buckets: defaultBuckets,
  },
  kubelet_pleg_relist_duration_seconds: {
    type: 'histogram',
    help: 'Time to list the pods of the container runtime, in seconds.',
    buckets: defaultBuckets,
  },
  kubelet_pleg_relist_interval_seconds: {
    type: 'histogram',
    help: 'Time between two lists of the container runtime, in seconds.',
    buckets: defaultBuckets,
  },
  kubelet_pod_deferred_accepted_resizes_total: {
    type: 'counter',
    labels: ['retry_trigger'],
    help: 'Deferred resizes that were allocated, by what triggered the retry.',
  },
  kubelet_pod_in_progress_resizes: { type: 'gauge', help: 'Pods with a resize in progress.' },
  kubelet_pod_infeasible_resizes_total: {
    type: 'counter',
    help: 'Resizes that this node can never allocate, by reason.',
    labels: ['reason_detail'],
  },
  kubelet_pod_pending_resizes: { type: 'gauge', help: 'Pods with a pending resize, by reason.', labels: ['reason'] },
  kubelet_pod_resize_duration_milliseconds: {
    type: 'histogram',
    help: 'Time to actuate the resize of a pod, in milliseconds.',
    labels: ['success'],
    buckets: resize,
  },
  kubelet_pod_start_duration_seconds: {
    type: 'histogram',
    buckets: podStartup,
    help: 'Time in seconds from when the agent first saw a pod until the pod ran.',
  },
  kubelet_pod_start_sli_duration_seconds: {
    type: 'histogram',
    hiddenUntilUsed: true,
    buckets: podStartup,
    help: 'Time in seconds from the creation of a pod until all its containers had started, without image pulls and init containers.',
  },
  kubelet_pod_start_total_duration_seconds: {
    type: 'histogram',
    hiddenUntilUsed: true,
    buckets: podStartup,
    help: 'Time in seconds from the creation of a pod until all its containers had started, including image pulls and init containers.',
  },
  kubelet_pod_status_sync_duration_seconds: {
    type: 'histogram',
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60],
    help: 'Time in seconds from the first unpublished change of a pod status until the API server has the current status.',
  },
  kubelet_pod_worker_duration_seconds: {
    type: 'histogram',
    labels: ['operation_type'],
    buckets: defaultBuckets,
    help: 'Duration of one pass over a pod in seconds, by operation: create, sync, terminating or terminated.',
  },
  kubelet_pod_worker_start_duration_seconds: {
    type: 'histogram',
    help: 'Time in seconds from when the agent first saw a pod until its worker started.',
    buckets: defaultBuckets,
  },
  kubelet_restarted_pods_total: {
    type: 'counter',
    labels: ['static'],
    help: 'Pods that were deleted and created again with the same UID, as happens to static pods.',
  },
  kubelet_run_podsandbox_duration_seconds: {
    type: 'histogram',
    labels: ['runtime_handler'],
    buckets: defaultBuckets,
    help: 'Time to create pod sandboxes in seconds, by runtime handler.',
  },
  kubelet_run_podsandbox_errors_total: {
    type: 'counter',
    labels: ['runtime_handler'],
    help: 'Pod sandboxes that could not be created, by runtime handler.',
  },
  kubelet_running_containers: {
    type: 'gauge',
    help: 'Containers in the container runtime, by state.',
    labels: ['container_state'],
  },
  kubelet_running_pods: { type: 'gauge', help: 'Pods with a ready sandbox.' },
  kubelet_started_containers_errors_total: {
    type: 'counter',
    help: 'Containers that failed to start, by type and reason.',
    labels: ['container_type', 'code'],
  },
  kubelet_started_containers_total: {
    type: 'counter',
    help: 'Containers that the agent tried to start, by type.',
    labels: ['container_type'],
  },
  kubelet_started_pods_errors_total: { type: 'counter', help: 'Pods whose sandbox could not be created.' },
  kubelet_started_pods_total: { type: 'counter', help: 'Pods for which the agent tried to create a sandbox.' },
  kubelet_started_user_namespaced_pods_errors_total: {
    type: 'counter',
    help: 'Pods with user namespaces whose new sandbox, or a container in it, could not be started.',
  },
  kubelet_started_user_namespaced_pods_total: {
    type: 'counter',
    help: 'Pods with user namespaces for which the agent tried to create a sandbox.',
  },
  kubelet_terminated_containers_total: {
    type: 'counter',
    help: 'Containers that ended, by type, exit code and reason.',
    labels: ['container_type', 'exit_code', 'reason'],
  },
  kubelet_working_pods: {
    type: 'gauge',
    labels: ['lifecycle', 'config', 'static'],
    help: 'Pods with a worker, by lifecycle (sync, terminating, terminated), by config (desired, orphan, runtime_only) and by whether they are static. Orphaned pods are no longer wanted and still use resources of the node.',
  },
} as const satisfies Readonly<Record<string, MetricFamily>>;
