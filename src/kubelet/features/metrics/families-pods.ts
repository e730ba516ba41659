// Names, kinds, labels, buckets and help of upstream's families: tools, dashboards and alerts match them.
import type { MetricFamily } from './metric-family.ts';
import { DEFAULT, POD_STARTUP, RESIZE, exponential } from './buckets.ts';

export const podFamilies = {
  kubelet_active_pods: {
    type: 'gauge',
    labels: ['static'],
    help: 'The number of pods the kubelet considers active and which are being considered when admitting new pods. static is true if the pod is not from the apiserver.',
  },
  kubelet_admission_rejections_total: {
    type: 'counter',
    help: 'Cumulative number pod admission rejections by the Kubelet.',
    labels: ['reason'],
  },
  kubelet_cgroup_manager_duration_seconds: {
    type: 'histogram',
    labels: ['operation_type'],
    buckets: DEFAULT,
    help: 'Duration in seconds for cgroup manager operations. Broken down by method.',
  },
  kubelet_container_requested_resizes_total: {
    type: 'counter',
    labels: ['resource', 'requirement', 'operation'],
    help: "Number of requested resizes, counted at the container level. Different resources on the same container are counted separately. The 'requirement' label refers to 'memory' or 'limits'; the 'operation' label can be one of 'add', 'remove', 'increase' or 'decrease'.",
  },
  kubelet_containers_per_pod_count: {
    type: 'histogram',
    help: 'The number of containers per pod.',
    buckets: exponential(1, 2, 5),
  },
  kubelet_desired_pods: {
    type: 'gauge',
    labels: ['static'],
    help: 'The number of pods the kubelet is being instructed to run. static is true if the pod is not from the apiserver.',
  },
  kubelet_evented_pleg_connection_error_count: {
    type: 'counter',
    help: 'The number of errors encountered during the establishment of streaming connection with the CRI runtime.',
  },
  kubelet_evented_pleg_connection_latency_seconds: {
    type: 'histogram',
    buckets: DEFAULT,
    help: 'The latency of streaming connection with the CRI runtime, measured in seconds.',
  },
  kubelet_evented_pleg_connection_success_count: {
    type: 'counter',
    help: 'The number of times a streaming client was obtained to receive CRI Events.',
  },
  kubelet_eviction_stats_age_seconds: {
    type: 'histogram',
    labels: ['eviction_signal'],
    buckets: DEFAULT,
    help: 'Time between when stats are collected, and when pod is evicted based on those stats by eviction signal',
  },
  kubelet_evictions: {
    type: 'counter',
    help: 'Cumulative number of pod evictions by eviction signal',
    labels: ['eviction_signal'],
  },
  kubelet_first_network_pod_start_sli_duration_seconds: {
    type: 'gauge',
    help: 'Duration in seconds to start the first network pod, excluding time to pull images and run init containers, measured from pod creation timestamp to when all its containers are reported as started and observed via watch',
  },
  kubelet_managed_ephemeral_containers: {
    type: 'gauge',
    help: 'Current number of ephemeral containers in pods managed by this kubelet.',
  },
  kubelet_mirror_pods: {
    type: 'gauge',
    help: 'The number of mirror pods the kubelet will try to create (one per admitted static pod)',
  },
  kubelet_orphaned_runtime_pods_total: {
    type: 'counter',
    help: 'Number of pods that have been detected in the container runtime without being already known to the pod worker. This typically indicates the kubelet was restarted while a pod was force deleted in the API or in the local configuration, which is unusual.',
  },
  kubelet_pleg_discard_events: { type: 'counter', help: 'The number of discard events in PLEG.' },
  kubelet_pleg_last_seen_seconds: { type: 'gauge', help: 'Timestamp in seconds when PLEG was last seen active.' },
  kubelet_pleg_pod_relist_duration_seconds: {
    type: 'histogram',
    help: 'Duration in seconds for relisting a single pod in PLEG.',
    buckets: DEFAULT,
  },
  kubelet_pleg_relist_duration_seconds: {
    type: 'histogram',
    help: 'Duration in seconds for relisting pods in PLEG.',
    buckets: DEFAULT,
  },
  kubelet_pleg_relist_interval_seconds: {
    type: 'histogram',
    help: 'Interval in seconds between relisting in PLEG.',
    buckets: DEFAULT,
  },
  kubelet_pod_deferred_accepted_resizes_total: {
    type: 'counter',
    labels: ['retry_trigger'],
    help: 'Cumulative number of resizes that were accepted after being deferred.',
  },
  kubelet_pod_in_progress_resizes: { type: 'gauge', help: 'Number of in-progress resizes for pods.' },
  kubelet_pod_infeasible_resizes_total: {
    type: 'counter',
    help: 'Number of infeasible resizes for pods.',
    labels: ['reason_detail'],
  },
  kubelet_pod_pending_resizes: { type: 'gauge', help: 'Number of pending resizes for pods.', labels: ['reason'] },
  kubelet_pod_resize_duration_milliseconds: {
    type: 'histogram',
    help: 'Duration in milliseconds to actuate a pod resize',
    labels: ['success'],
    buckets: RESIZE,
  },
  kubelet_pod_start_duration_seconds: {
    type: 'histogram',
    buckets: POD_STARTUP,
    help: 'Duration in seconds from kubelet seeing a pod for the first time to the pod starting to run',
  },
  kubelet_pod_start_sli_duration_seconds: {
    type: 'histogram',
    hiddenUntilUsed: true,
    buckets: POD_STARTUP,
    help: 'Duration in seconds to start a pod, excluding time to pull images and run init containers, measured from pod creation timestamp to when all its containers are reported as started and observed via watch',
  },
  kubelet_pod_start_total_duration_seconds: {
    type: 'histogram',
    hiddenUntilUsed: true,
    buckets: POD_STARTUP,
    help: 'Duration in seconds to start a pod since creation, including time to pull images and run init containers, measured from pod creation timestamp to when all its containers are reported as started and observed via watch',
  },
  kubelet_pod_status_sync_duration_seconds: {
    type: 'histogram',
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60],
    help: 'Duration in seconds to sync a pod status update. Measures time from detection of a change to pod status until the API is successfully updated for that pod, even if multiple intevening changes to pod status occur.',
  },
  kubelet_pod_worker_duration_seconds: {
    type: 'histogram',
    labels: ['operation_type'],
    buckets: DEFAULT,
    help: 'Duration in seconds to sync a single pod. Broken down by operation type: create, update, or sync',
  },
  kubelet_pod_worker_start_duration_seconds: {
    type: 'histogram',
    help: 'Duration in seconds from kubelet seeing a pod to starting a worker.',
    buckets: DEFAULT,
  },
  kubelet_preemptions: {
    type: 'counter',
    help: 'Cumulative number of pod preemptions by preemption resource',
    labels: ['preemption_signal'],
  },
  kubelet_restarted_pods_total: {
    type: 'counter',
    labels: ['static'],
    help: 'Number of pods that have been restarted because they were deleted and recreated with the same UID while the kubelet was watching them (common for static pods, extremely uncommon for API pods)',
  },
  kubelet_run_podsandbox_duration_seconds: {
    type: 'histogram',
    labels: ['runtime_handler'],
    buckets: DEFAULT,
    help: 'Duration in seconds of the run_podsandbox operations. Broken down by RuntimeClass.Handler.',
  },
  kubelet_run_podsandbox_errors_total: {
    type: 'counter',
    labels: ['runtime_handler'],
    help: 'Cumulative number of the run_podsandbox operation errors by RuntimeClass.Handler.',
  },
  kubelet_running_containers: {
    type: 'gauge',
    help: 'Number of containers currently running',
    labels: ['container_state'],
  },
  kubelet_running_pods: { type: 'gauge', help: 'Number of pods that have a running pod sandbox' },
  kubelet_started_containers_errors_total: {
    type: 'counter',
    help: 'Cumulative number of errors when starting containers',
    labels: ['container_type', 'code'],
  },
  kubelet_started_containers_total: {
    type: 'counter',
    help: 'Cumulative number of containers started',
    labels: ['container_type'],
  },
  kubelet_started_host_process_containers_errors_total: {
    type: 'counter',
    labels: ['container_type', 'code'],
    help: 'Cumulative number of errors when starting hostprocess containers. This metric will only be collected on Windows.',
  },
  kubelet_started_host_process_containers_total: {
    type: 'counter',
    labels: ['container_type'],
    help: 'Cumulative number of hostprocess containers started. This metric will only be collected on Windows.',
  },
  kubelet_started_pods_errors_total: { type: 'counter', help: 'Cumulative number of errors when starting pods' },
  kubelet_started_pods_total: { type: 'counter', help: 'Cumulative number of pods started' },
  kubelet_started_user_namespaced_pods_errors_total: {
    type: 'counter',
    help: 'Cumulative number of errors when starting pods with user namespaces. This metric will only be collected on Linux.',
  },
  kubelet_started_user_namespaced_pods_total: {
    type: 'counter',
    help: 'Cumulative number of pods with user namespaces started. This metric will only be collected on Linux.',
  },
  kubelet_terminated_containers_total: {
    type: 'counter',
    help: 'Cumulative number of container terminations.',
    labels: ['container_type', 'exit_code', 'reason'],
  },
  kubelet_working_pods: {
    type: 'gauge',
    labels: ['lifecycle', 'config', 'static'],
    help: 'Number of pods the kubelet is actually running, broken down by lifecycle phase, whether the pod is desired, orphaned, or runtime only (also orphaned), and whether the pod is static. An orphaned pod has been removed from local configuration or force deleted in the API and consumes resources that are not otherwise visible.',
  },
} as const satisfies Readonly<Record<string, MetricFamily>>;
