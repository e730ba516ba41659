// Names, types, labels and buckets are those of upstream's families, because tools, dashboards and alerts match them.
// The help texts are our own.
import type { MetricFamily } from './metric-family.ts';
import { servingAge, defaultBuckets, imagePull, exponential } from './buckets.ts';

export const nodeFamilies = {
  kubelet_certificate_manager_client_expiration_renew_errors: {
    type: 'counter',
    help: 'Failed attempts to renew the client certificate of the node.',
  },
  kubelet_certificate_manager_client_ttl_seconds: {
    type: 'gauge',
    help: 'Seconds until the client certificate of the node expires; negative once it has expired, +Inf without a valid certificate.',
  },
  kubelet_certificate_manager_server_rotation_seconds: {
    type: 'histogram',
    buckets: servingAge,
    help: 'Age in seconds of serving certificates at their rotation.',
  },
  kubelet_certificate_manager_server_ttl_seconds: {
    type: 'gauge',
    help: 'Seconds until the serving certificate of the node expires; negative once it has expired, +Inf without a valid certificate.',
  },
  kubelet_cgroup_version: { type: 'gauge', help: 'Version of the cgroup hierarchy on this node: 1 or 2.' },
  kubelet_container_log_filesystem_used_bytes: {
    type: 'gauge',
    labels: ['uid', 'namespace', 'pod', 'container'],
    help: 'Disk space used by the logs of a container, in bytes.',
  },
  kubelet_cri_losing_support: {
    type: 'gauge',
    labels: ['version'],
    help: 'Kubernetes version that will no longer work with this container runtime, as a label; absent for a current runtime.',
  },
  kubelet_credential_provider_plugin_duration: {
    type: 'histogram',
    labels: ['plugin_name'],
    buckets: defaultBuckets,
    help: 'Run time of credential provider plugins in seconds.',
  },
  kubelet_credential_provider_plugin_errors_total: {
    type: 'counter',
    help: 'Failed runs of credential provider plugins.',
    labels: ['plugin_name'],
  },
  kubelet_eviction_stats_age_seconds: {
    type: 'histogram',
    labels: ['eviction_signal'],
    buckets: defaultBuckets,
    help: 'Age of the reading from which an eviction was decided, in seconds, by signal.',
  },
  kubelet_evictions: {
    type: 'counter',
    labels: ['eviction_signal'],
    help: 'Pods evicted by this node, by the signal that was short.',
  },
  kubelet_graceful_shutdown_end_time_seconds: {
    type: 'gauge',
    help: 'Unix time at which the last graceful shutdown of the node had ended its pods; 0 if it has not.',
  },
  kubelet_graceful_shutdown_start_time_seconds: {
    type: 'gauge',
    help: 'Unix time at which the last graceful shutdown of the node began; 0 if there was none.',
  },
  kubelet_http_inflight_requests: {
    type: 'gauge',
    help: 'HTTP requests in progress.',
    labels: ['method', 'path', 'server_type', 'long_running'],
  },
  kubelet_http_requests_duration_seconds: {
    type: 'histogram',
    labels: ['method', 'path', 'server_type', 'long_running'],
    buckets: defaultBuckets,
    help: 'Time to serve HTTP requests, in seconds.',
  },
  kubelet_http_requests_total: {
    type: 'counter',
    labels: ['method', 'path', 'server_type', 'long_running'],
    help: 'HTTP requests received since the agent started.',
  },
  kubelet_image_garbage_collected_total: {
    type: 'counter',
    labels: ['reason'],
    help: 'Images removed by image garbage collection, by reason: disk space or age.',
  },
  kubelet_image_manager_ensure_image_requests_total: {
    type: 'counter',
    labels: ['pull_policy', 'present_locally', 'pull_required'],
    help: 'Requests to ensure that an image is present.',
  },
  kubelet_image_pull_duration_seconds: {
    type: 'histogram',
    help: 'Duration of image pulls in seconds, by size of the image.',
    labels: ['image_size_in_bytes'],
    buckets: imagePull,
  },
  kubelet_image_volume_mounted_errors_total: {
    type: 'counter',
    help: 'Image volumes that could not be mounted.',
    stability: 'BETA',
  },
  kubelet_image_volume_mounted_succeed_total: {
    type: 'counter',
    help: 'Image volumes that were mounted.',
    stability: 'BETA',
  },
  kubelet_image_volume_requested_total: {
    type: 'counter',
    help: 'Image volumes that pods requested.',
    stability: 'BETA',
  },
  kubelet_imagemanager_image_mustpull_checks_total: {
    type: 'counter',
    labels: ['result'],
    help: 'Checks whether a pod must prove its access to an image that is present, by result.',
  },
  kubelet_imagemanager_inmemory_pulledrecords_usage_percent: {
    type: 'gauge',
    help: "Pull records in memory, as a percentage of the size of upstream's cache.",
  },
  kubelet_imagemanager_inmemory_pullintents_usage_percent: {
    type: 'gauge',
    help: "Pull intents in memory, as a percentage of the size of upstream's cache.",
  },
  kubelet_imagemanager_ondisk_pulledrecords: {
    type: 'gauge',
    help: 'Pull records on disk: images pulled by the agent.',
  },
  kubelet_imagemanager_ondisk_pullintents: {
    type: 'gauge',
    help: 'Pull intents on disk: pulls that have begun and not ended.',
  },
  kubelet_lifecycle_handler_http_fallbacks_total: {
    type: 'counter',
    help: 'HTTPS lifecycle hooks that succeeded when they were repeated over HTTP.',
  },
  kubelet_metrics_provider: {
    type: 'gauge',
    labels: ['provider'],
    help: 'Source of container statistics; the label `provider` is cadvisor or cri.',
  },
  kubelet_preemptions: {
    type: 'counter',
    labels: ['preemption_signal'],
    help: 'Pods stopped to make room for a critical pod, by the resource that was short.',
  },
  kubelet_node_name: { type: 'gauge', help: 'Name of the node as a label; the value is always 1.', labels: ['node'] },
  kubelet_node_startup_duration_seconds: {
    type: 'gauge',
    help: 'Time in seconds from the boot of the node until it was ready.',
  },
  kubelet_node_startup_post_registration_duration_seconds: {
    type: 'gauge',
    help: 'Time in seconds from the registration of the node until it was ready.',
  },
  kubelet_node_startup_pre_kubelet_duration_seconds: {
    type: 'gauge',
    help: 'Time in seconds from the boot of the node until the agent started.',
  },
  kubelet_node_startup_pre_registration_duration_seconds: {
    type: 'gauge',
    help: 'Time in seconds from the start of the agent until it began to register the node.',
  },
  kubelet_node_startup_registration_duration_seconds: {
    type: 'gauge',
    help: 'Duration of the registration of the node in seconds.',
  },
  kubelet_orphan_pod_cleaned_volumes: {
    type: 'gauge',
    help: 'Removed pods with leftover volumes, as found by the last cleanup.',
  },
  kubelet_orphan_pod_cleaned_volumes_errors: {
    type: 'gauge',
    help: 'Removed pods with leftover volumes that the last cleanup could not remove.',
  },
  kubelet_runtime_operations_duration_seconds: {
    type: 'histogram',
    labels: ['operation_type'],
    buckets: exponential(0.005, 2.5, 14),
    help: 'Duration of calls to the container runtime in seconds, by operation.',
  },
  kubelet_runtime_operations_errors_total: {
    type: 'counter',
    help: 'Failed calls to the container runtime, by operation.',
    labels: ['operation_type'],
  },
  kubelet_runtime_operations_total: {
    type: 'counter',
    help: 'Calls to the container runtime, by operation.',
    labels: ['operation_type'],
  },
  kubelet_server_expiration_renew_errors: {
    type: 'counter',
    help: 'Failed attempts to renew the serving certificate of the node.',
  },
  kubelet_sleep_action_terminated_early_total: {
    type: 'counter',
    help: 'Sleep hooks that were ended before their time was over.',
  },
  kubelet_volume_metric_collection_duration_seconds: {
    type: 'histogram',
    labels: ['metric_source'],
    buckets: defaultBuckets,
    help: 'Time to measure the usage of volumes, in seconds.',
  },
  kubelet_volume_stats_available_bytes: {
    type: 'gauge',
    help: 'Free space of the volume in bytes.',
    labels: ['namespace', 'persistentvolumeclaim'],
  },
  kubelet_volume_stats_capacity_bytes: {
    type: 'gauge',
    help: 'Size of the volume in bytes.',
    labels: ['namespace', 'persistentvolumeclaim'],
  },
  kubelet_volume_stats_health_status_abnormal: {
    type: 'gauge',
    labels: ['namespace', 'persistentvolumeclaim'],
    help: 'Health of the volume as its driver reports it: 1 for abnormal, 0 for healthy.',
  },
  kubelet_volume_stats_inodes: {
    type: 'gauge',
    help: 'Inodes of the volume.',
    labels: ['namespace', 'persistentvolumeclaim'],
  },
  kubelet_volume_stats_inodes_free: {
    type: 'gauge',
    help: 'Free inodes of the volume.',
    labels: ['namespace', 'persistentvolumeclaim'],
  },
  kubelet_volume_stats_inodes_used: {
    type: 'gauge',
    help: 'Used inodes of the volume.',
    labels: ['namespace', 'persistentvolumeclaim'],
  },
  kubelet_volume_stats_used_bytes: {
    type: 'gauge',
    help: 'Used space of the volume in bytes.',
    labels: ['namespace', 'persistentvolumeclaim'],
  },
  kubelet_websocket_streaming_requests_total: {
    type: 'counter',
    labels: ['subresource'],
    help: 'Requests for exec, attach and port forwarding over WebSocket.',
  },
} as const satisfies Readonly<Record<string, MetricFamily>>;
