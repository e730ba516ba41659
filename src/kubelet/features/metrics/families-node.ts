// Names, kinds, labels, buckets and help of upstream's families: tools, dashboards and alerts match them.
import type { MetricFamily } from './metric-family.ts';
import { SERVING_AGE, DEFAULT, IMAGE_PULL, exponential } from './buckets.ts';

export const nodeFamilies = {
  kubelet_certificate_manager_client_expiration_renew_errors: {
    type: 'counter',
    help: 'Counter of certificate renewal errors.',
  },
  kubelet_certificate_manager_client_ttl_seconds: {
    type: 'gauge',
    help: "Gauge of the TTL (time-to-live) of the Kubelet's client certificate. The value is in seconds until certificate expiry (negative if already expired). If client certificate is invalid or unused, the value will be +INF.",
  },
  kubelet_certificate_manager_server_rotation_seconds: {
    type: 'histogram',
    buckets: SERVING_AGE,
    help: 'Histogram of the number of seconds the previous certificate lived before being rotated.',
  },
  kubelet_certificate_manager_server_ttl_seconds: {
    type: 'gauge',
    help: "Gauge of the shortest TTL (time-to-live) of the Kubelet's serving certificate. The value is in seconds until certificate expiry (negative if already expired). If serving certificate is invalid or unused, the value will be +INF.",
  },
  kubelet_cgroup_version: { type: 'gauge', help: 'cgroup version on the hosts.' },
  kubelet_container_aligned_compute_resources_count: {
    type: 'counter',
    labels: ['scope', 'boundary'],
    help: 'Cumulative number of aligned compute resources allocated to containers by alignment type.',
  },
  kubelet_container_aligned_compute_resources_failure_count: {
    type: 'counter',
    labels: ['scope', 'boundary'],
    help: 'Cumulative number of failures to allocate aligned compute resources to containers by alignment type.',
  },
  kubelet_container_log_filesystem_used_bytes: {
    type: 'gauge',
    labels: ['uid', 'namespace', 'pod', 'container'],
    help: "Bytes used by the container's logs on the filesystem.",
  },
  kubelet_cpu_manager_allocation_per_numa: {
    type: 'gauge',
    help: 'Number of CPUs allocated per NUMA node',
    labels: ['numa_node'],
  },
  kubelet_cpu_manager_exclusive_cpu_allocation_count: {
    type: 'gauge',
    help: 'The total number of CPUs exclusively allocated to containers running on this node',
  },
  kubelet_cpu_manager_pinning_errors_total: {
    type: 'counter',
    help: 'The number of cpu core allocations which required pinning failed.',
  },
  kubelet_cpu_manager_pinning_requests_total: {
    type: 'counter',
    help: 'The number of cpu core allocations which required pinning.',
  },
  kubelet_cpu_manager_shared_pool_size_millicores: {
    type: 'gauge',
    help: 'The size of the shared CPU pool for non-guaranteed QoS pods, in millicores.',
  },
  kubelet_credential_provider_plugin_duration: {
    type: 'histogram',
    labels: ['plugin_name'],
    buckets: DEFAULT,
    help: 'Duration of execution in seconds for credential provider plugin',
  },
  kubelet_credential_provider_plugin_errors_total: {
    type: 'counter',
    help: 'Number of errors from credential provider plugin',
    labels: ['plugin_name'],
  },
  kubelet_cri_losing_support: {
    type: 'gauge',
    labels: ['version'],
    help: 'the Kubernetes version that the currently running CRI implementation will lose support on if not upgraded.',
  },
  kubelet_device_plugin_alloc_duration_seconds: {
    type: 'histogram',
    labels: ['resource_name'],
    buckets: DEFAULT,
    help: 'Duration in seconds to serve a device plugin Allocation request. Broken down by resource name.',
  },
  kubelet_device_plugin_registration_total: {
    type: 'counter',
    labels: ['resource_name'],
    help: 'Cumulative number of device plugin registrations. Broken down by resource name.',
  },
  kubelet_graceful_shutdown_end_time_seconds: {
    type: 'gauge',
    help: 'Last graceful shutdown end time since unix epoch in seconds',
  },
  kubelet_graceful_shutdown_start_time_seconds: {
    type: 'gauge',
    help: 'Last graceful shutdown start time since unix epoch in seconds',
  },
  kubelet_http_inflight_requests: {
    type: 'gauge',
    help: 'Number of the inflight http requests',
    labels: ['method', 'path', 'server_type', 'long_running'],
  },
  kubelet_http_requests_duration_seconds: {
    type: 'histogram',
    labels: ['method', 'path', 'server_type', 'long_running'],
    buckets: DEFAULT,
    help: 'Duration in seconds to serve http requests',
  },
  kubelet_http_requests_total: {
    type: 'counter',
    labels: ['method', 'path', 'server_type', 'long_running'],
    help: 'Number of the http requests received since the server started',
  },
  kubelet_image_garbage_collected_total: {
    type: 'counter',
    labels: ['reason'],
    help: 'Total number of images garbage collected by the kubelet, whether through disk usage or image age.',
  },
  kubelet_image_manager_ensure_image_requests_total: {
    type: 'counter',
    labels: ['pull_policy', 'present_locally', 'pull_required'],
    help: 'Number of ensure-image requests processed by the kubelet.',
  },
  kubelet_image_pull_duration_seconds: {
    type: 'histogram',
    help: 'Duration in seconds to pull an image.',
    labels: ['image_size_in_bytes'],
    buckets: IMAGE_PULL,
  },
  kubelet_image_volume_mounted_errors_total: {
    type: 'counter',
    help: 'Number of failed image volume mounts.',
    stability: 'BETA',
  },
  kubelet_image_volume_mounted_succeed_total: {
    type: 'counter',
    help: 'Number of successful image volume mounts.',
    stability: 'BETA',
  },
  kubelet_image_volume_requested_total: {
    type: 'counter',
    help: 'Number of requested image volumes.',
    stability: 'BETA',
  },
  kubelet_imagemanager_image_mustpull_checks_total: {
    type: 'counter',
    labels: ['result'],
    help: 'Counter for how many times kubelet checked whether credentials need to be re-verified to access an image',
  },
  kubelet_imagemanager_inmemory_pulledrecords_usage_percent: {
    type: 'gauge',
    help: 'The ImagePulledRecords in-memory cache usage in percent.',
  },
  kubelet_imagemanager_inmemory_pullintents_usage_percent: {
    type: 'gauge',
    help: 'The ImagePullIntents in-memory cache usage in percent.',
  },
  kubelet_imagemanager_ondisk_pulledrecords: { type: 'gauge', help: 'Number of ImagePulledRecords stored on disk.' },
  kubelet_imagemanager_ondisk_pullintents: { type: 'gauge', help: 'Number of ImagePullIntents stored on disk.' },
  kubelet_lifecycle_handler_http_fallbacks_total: {
    type: 'counter',
    help: 'The number of times lifecycle handlers successfully fell back to http from https.',
  },
  kubelet_memory_manager_pinning_errors_total: {
    type: 'counter',
    help: 'The number of memory pages allocations which required pinning that failed.',
  },
  kubelet_memory_manager_pinning_requests_total: {
    type: 'counter',
    help: 'The number of memory pages allocations which required pinning.',
  },
  kubelet_memory_qos_node_memory_low_bytes: {
    type: 'gauge',
    gated: true,
    help: 'Total cgroup v2 memory.low in bytes for Burstable pods. This memory is soft-reserved and may be reclaimed under extreme pressure.',
  },
  kubelet_memory_qos_node_memory_min_bytes: {
    type: 'gauge',
    gated: true,
    help: 'Total cgroup v2 memory.min in bytes for Guaranteed pods. This memory is hard-reserved and never reclaimed by the kernel.',
  },
  kubelet_metrics_provider: {
    type: 'gauge',
    labels: ['provider'],
    help: "Metrics provider used by kubelet to collect container stats. Values can be 'cadvisor' and 'cri'",
  },
  kubelet_node_name: { type: 'gauge', help: "The node's name. The count is always 1.", labels: ['node'] },
  kubelet_node_startup_duration_seconds: { type: 'gauge', help: 'Duration in seconds of node startup in total.' },
  kubelet_node_startup_post_registration_duration_seconds: {
    type: 'gauge',
    help: 'Duration in seconds of node startup after registration.',
  },
  kubelet_node_startup_pre_kubelet_duration_seconds: {
    type: 'gauge',
    help: 'Duration in seconds of node startup before kubelet starts.',
  },
  kubelet_node_startup_pre_registration_duration_seconds: {
    type: 'gauge',
    help: 'Duration in seconds of node startup before registration.',
  },
  kubelet_node_startup_registration_duration_seconds: {
    type: 'gauge',
    help: 'Duration in seconds of node startup during registration.',
  },
  kubelet_orphan_pod_cleaned_volumes: {
    type: 'gauge',
    help: 'The total number of orphaned Pods whose volumes were cleaned in the last periodic sweep.',
  },
  kubelet_orphan_pod_cleaned_volumes_errors: {
    type: 'gauge',
    help: 'The number of orphaned Pods whose volumes failed to be cleaned in the last periodic sweep.',
  },
  kubelet_pod_resources_endpoint_errors_get: {
    type: 'counter',
    labels: ['server_api_version'],
    help: 'Number of requests to the PodResource Get endpoint which returned error. Broken down by server api version.',
  },
  kubelet_pod_resources_endpoint_errors_get_allocatable: {
    type: 'counter',
    labels: ['server_api_version'],
    help: 'Number of requests to the PodResource GetAllocatableResources endpoint which returned error. Broken down by server api version.',
  },
  kubelet_pod_resources_endpoint_errors_list: {
    type: 'counter',
    labels: ['server_api_version'],
    help: 'Number of requests to the PodResource List endpoint which returned error. Broken down by server api version.',
  },
  kubelet_pod_resources_endpoint_requests_get: {
    type: 'counter',
    labels: ['server_api_version'],
    help: 'Number of requests to the PodResource Get endpoint. Broken down by server api version.',
  },
  kubelet_pod_resources_endpoint_requests_get_allocatable: {
    type: 'counter',
    labels: ['server_api_version'],
    help: 'Number of requests to the PodResource GetAllocatableResources endpoint. Broken down by server api version.',
  },
  kubelet_pod_resources_endpoint_requests_list: {
    type: 'counter',
    labels: ['server_api_version'],
    help: 'Number of requests to the PodResource List endpoint. Broken down by server api version.',
  },
  kubelet_pod_resources_endpoint_requests_total: {
    type: 'counter',
    labels: ['server_api_version'],
    help: 'Cumulative number of requests to the PodResource endpoint. Broken down by server api version.',
  },
  kubelet_pod_watch_events_dropped_total: { type: 'counter', help: 'Cumulative number of pod watch events dropped.' },
  kubelet_podcertificate_states: {
    type: 'gauge',
    labels: ['signer_name', 'state'],
    help: 'Gauge vector reporting the number of pod certificate projected volume sources, faceted by signer_name and state.',
  },
  kubelet_runtime_operations_duration_seconds: {
    type: 'histogram',
    labels: ['operation_type'],
    buckets: exponential(0.005, 2.5, 14),
    help: 'Duration in seconds of runtime operations. Broken down by operation type.',
  },
  kubelet_runtime_operations_errors_total: {
    type: 'counter',
    help: 'Cumulative number of runtime operation errors by operation type.',
    labels: ['operation_type'],
  },
  kubelet_runtime_operations_total: {
    type: 'counter',
    help: 'Cumulative number of runtime operations by operation type.',
    labels: ['operation_type'],
  },
  kubelet_server_expiration_renew_errors: { type: 'counter', help: 'Counter of certificate renewal errors.' },
  kubelet_sleep_action_terminated_early_total: {
    type: 'counter',
    help: 'The number of times lifecycle sleep handler got terminated before it finishes',
  },
  kubelet_topology_manager_admission_duration_ms: {
    type: 'histogram',
    buckets: exponential(0.05, 2, 15),
    help: 'Duration in milliseconds to serve a pod admission request.',
  },
  kubelet_topology_manager_admission_errors_total: {
    type: 'counter',
    help: 'The number of admission request failures where resources could not be aligned.',
  },
  kubelet_topology_manager_admission_requests_total: {
    type: 'counter',
    help: 'The number of admission requests where resources have to be aligned.',
  },
  kubelet_volume_metric_collection_duration_seconds: {
    type: 'histogram',
    labels: ['metric_source'],
    buckets: DEFAULT,
    help: 'Duration in seconds to calculate volume stats',
  },
  kubelet_volume_stats_available_bytes: {
    type: 'gauge',
    help: 'Number of available bytes in the volume',
    labels: ['namespace', 'persistentvolumeclaim'],
  },
  kubelet_volume_stats_capacity_bytes: {
    type: 'gauge',
    help: 'Capacity in bytes of the volume',
    labels: ['namespace', 'persistentvolumeclaim'],
  },
  kubelet_volume_stats_health_status_abnormal: {
    type: 'gauge',
    labels: ['namespace', 'persistentvolumeclaim'],
    help: 'Abnormal volume health status. The count is either 1 or 0. 1 indicates the volume is unhealthy, 0 indicates volume is healthy',
  },
  kubelet_volume_stats_inodes: {
    type: 'gauge',
    help: 'Maximum number of inodes in the volume',
    labels: ['namespace', 'persistentvolumeclaim'],
  },
  kubelet_volume_stats_inodes_free: {
    type: 'gauge',
    help: 'Number of free inodes in the volume',
    labels: ['namespace', 'persistentvolumeclaim'],
  },
  kubelet_volume_stats_inodes_used: {
    type: 'gauge',
    help: 'Number of used inodes in the volume',
    labels: ['namespace', 'persistentvolumeclaim'],
  },
  kubelet_volume_stats_used_bytes: {
    type: 'gauge',
    help: 'Number of used bytes in the volume',
    labels: ['namespace', 'persistentvolumeclaim'],
  },
  kubelet_websocket_streaming_requests_total: {
    type: 'counter',
    labels: ['subresource'],
    help: 'Total number of WebSocket streaming requests (exec/attach/portforward) received by the kubelet.',
  },
} as const satisfies Readonly<Record<string, MetricFamily>>;
