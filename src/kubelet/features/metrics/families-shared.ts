// Names, kinds, labels, buckets and help of upstream's families: tools, dashboards and alerts match them.
import type { MetricFamily } from './metric-family.ts';
import { CLIENT_BYTES, CLIENT_SECONDS, PLUGIN_AGE, DRA, STORAGE_SECONDS, exponential } from './buckets.ts';

export const sharedFamilies = {
  csi_operations_seconds: {
    type: 'histogram',
    labels: ['driver_name', 'method_name', 'grpc_status_code', 'migrated'],
    buckets: STORAGE_SECONDS,
    help: 'Container Storage Interface operation duration with gRPC error code status total',
  },
  disabled_metrics_total: { type: 'counter', help: 'The count of disabled metrics.', stability: 'BETA' },
  dra_grpc_operations_duration_seconds: {
    type: 'histogram',
    labels: ['driver_name', 'method_name', 'grpc_status_code'],
    buckets: DRA,
    help: 'Duration in seconds of the DRA gRPC operations',
  },
  dra_operations_duration_seconds: {
    type: 'histogram',
    labels: ['operation_name', 'is_error'],
    buckets: DRA,
    help: "Latency histogram in seconds for the duration of handling all ResourceClaims referenced by a pod when the pod starts or stops. Identified by the name of the operation (PrepareResources or UnprepareResources) and separated by the success of the operation. The number of failed operations is provided through the histogram's overall count.",
  },
  dra_resource_claims_in_use: {
    type: 'gauge',
    labels: ['driver_name'],
    help: 'The number of ResourceClaims that are currently in use on the node, by driver name (driver_name label value) and across all drivers (special value <any> for driver_name). Note that the sum of all by-driver counts is not the total number of in-use ResourceClaims because the same ResourceClaim might use devices from different drivers. Instead, use the count for the <any> driver_name.',
  },
  force_cleaned_failed_volume_operation_errors_total: {
    type: 'counter',
    help: 'The number of volumes that failed force cleanup after their reconstruction failed during kubelet startup.',
  },
  force_cleaned_failed_volume_operations_total: {
    type: 'counter',
    help: 'The number of volumes that were force cleaned after their reconstruction failed during kubelet startup. This includes both successful and failed cleanups.',
  },
  hidden_metrics_total: { type: 'counter', help: 'The count of hidden metrics.', stability: 'BETA' },
  kubernetes_build_info: {
    type: 'gauge',
    labels: [
      'major',
      'minor',
      'git_version',
      'git_commit',
      'git_tree_state',
      'build_date',
      'go_version',
      'compiler',
      'platform',
    ],
    stability: 'BETA',
    help: "A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, build date, Go version, and compiler from which Kubernetes was built, and platform on which it is running.",
  },
  kubernetes_feature_enabled: {
    type: 'gauge',
    labels: ['name', 'stage'],
    stability: 'BETA',
    help: 'This metric records the data about the stage and enablement of a k8s feature.',
  },
  plugin_manager_total_plugins: {
    type: 'gauge',
    help: 'Number of plugins in Plugin Manager',
    labels: ['socket_path', 'state'],
  },
  reconstruct_volume_operations_errors_total: {
    type: 'counter',
    help: 'The number of volumes that failed reconstruction from the operating system during kubelet startup.',
  },
  reconstruct_volume_operations_total: {
    type: 'counter',
    help: 'The number of volumes that were attempted to be reconstructed from the operating system during kubelet startup. This includes both successful and failed reconstruction.',
  },
  registered_metrics_total: {
    type: 'counter',
    labels: ['stability_level', 'deprecated_version'],
    stability: 'BETA',
    help: 'The count of registered metrics broken by stability level and deprecation version.',
  },
  resource_manager_allocation_errors_total: {
    type: 'counter',
    labels: ['resource_name', 'source'],
    gated: true,
    help: 'Number of errors encountered during exclusive resource allocation.',
  },
  resource_manager_allocations_total: {
    type: 'counter',
    labels: ['resource_name', 'source'],
    gated: true,
    help: 'Number of exclusive resource allocations performed by a resource manager.',
  },
  resource_manager_container_assignments: {
    type: 'counter',
    labels: ['resource_name', 'assignment_type'],
    gated: true,
    help: 'Number of containers with a specific type of resource assignment.',
  },
  rest_client_dns_resolution_duration_seconds: {
    type: 'histogram',
    labels: ['host'],
    buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0],
    help: 'DNS resolver latency in seconds. Broken down by host.',
  },
  rest_client_exec_plugin_call_total: {
    type: 'counter',
    labels: ['code', 'call_status'],
    help: 'Number of calls to an exec plugin, partitioned by the type of event encountered (no_error, plugin_execution_error, plugin_not_found_error, client_internal_error) and an optional exit code. The exit code will be set to 0 if and only if the plugin call was successful.',
  },
  rest_client_exec_plugin_certificate_rotation_age: {
    type: 'histogram',
    buckets: PLUGIN_AGE,
    help: 'Histogram of the number of seconds the last auth exec plugin client certificate lived before being rotated. If auth exec plugin client certificates are unused, histogram will contain no data.',
  },
  rest_client_exec_plugin_policy_call_total: {
    type: 'counter',
    labels: ['allowed', 'denied'],
    help: 'Number of comparisons of an exec plugin to the plugin policy and allowlist (if any), partitioned by whether or not the policy permits the plugin',
  },
  rest_client_exec_plugin_ttl_seconds: {
    type: 'gauge',
    help: 'Gauge of the shortest TTL (time-to-live) of the client certificate(s) managed by the auth exec plugin. The value is in seconds until certificate expiry (negative if already expired). If auth exec plugins are unused or manage no TLS certificates, the value will be +INF.',
  },
  rest_client_rate_limiter_duration_seconds: {
    type: 'histogram',
    labels: ['verb', 'host'],
    buckets: CLIENT_SECONDS,
    help: 'Client side rate limiter latency in seconds. Broken down by verb, and host.',
  },
  rest_client_request_duration_seconds: {
    type: 'histogram',
    labels: ['verb', 'host'],
    buckets: CLIENT_SECONDS,
    help: 'Request latency in seconds. Broken down by verb, and host.',
  },
  rest_client_request_retries_total: {
    type: 'counter',
    labels: ['code', 'verb', 'host'],
    help: 'Number of request retries, partitioned by status code, verb, and host.',
  },
  rest_client_request_size_bytes: {
    type: 'histogram',
    labels: ['verb', 'host'],
    buckets: CLIENT_BYTES,
    help: 'Request size in bytes. Broken down by verb and host.',
  },
  rest_client_requests_total: {
    type: 'counter',
    help: 'Number of HTTP requests, partitioned by status code, method, and host.',
    labels: ['code', 'method', 'host'],
  },
  rest_client_response_size_bytes: {
    type: 'histogram',
    labels: ['verb', 'host'],
    buckets: CLIENT_BYTES,
    help: 'Response size in bytes. Broken down by verb and host.',
  },
  rest_client_transport_ca_reload_total: {
    type: 'counter',
    labels: ['result', 'reason'],
    help: 'Number of times a CA reload is attempted, partitioned by the result and reason for the reload attempt',
  },
  rest_client_transport_cache_entries: { type: 'gauge', help: 'Number of transport entries in the internal cache.' },
  rest_client_transport_cache_gc_calls_total: {
    type: 'counter',
    labels: ['result'],
    help: 'Number of times a GC cleanup attempts to delete a transport cache entry, partitioned by the result: deleted, skipped',
  },
  rest_client_transport_cert_rotation_gc_calls_total: {
    type: 'counter',
    help: 'Number of times a cert rotation goroutine cancel func is called via GC cleanup of the associated transport',
  },
  rest_client_transport_create_calls_total: {
    type: 'counter',
    labels: ['result'],
    help: 'Number of calls to get a new transport, partitioned by the result of the operation hit: obtained from the cache, miss: created and added to the cache, miss-gc: recreated and added back to the cache after being garbage collected, uncacheable: created and not cached',
  },
  storage_operation_duration_seconds: {
    type: 'histogram',
    labels: ['volume_plugin', 'operation_name', 'status', 'migrated'],
    buckets: STORAGE_SECONDS,
    help: 'Storage operation duration',
  },
  volume_manager_selinux_container_errors_total: {
    type: 'gauge',
    labels: ['access_mode'],
    help: "Number of errors when kubelet cannot compute SELinux context for a container. Kubelet can't start such a Pod then and it will retry, therefore value of this metric may not represent the actual nr. of containers.",
  },
  volume_manager_selinux_container_warnings_total: {
    type: 'gauge',
    labels: ['access_mode'],
    help: 'Number of errors when kubelet cannot compute SELinux context for a container that are ignored. They will become real errors when SELinuxMountReadWriteOncePod feature is expanded to all volume access modes.',
  },
  volume_manager_selinux_pod_context_mismatch_errors_total: {
    type: 'gauge',
    labels: ['access_mode'],
    help: "Number of errors when a Pod defines different SELinux contexts for its containers that use the same volume. Kubelet can't start such a Pod then and it will retry, therefore value of this metric may not represent the actual nr. of Pods.",
  },
  volume_manager_selinux_pod_context_mismatch_warnings_total: {
    type: 'gauge',
    labels: ['access_mode'],
    help: 'Number of errors when a Pod defines different SELinux contexts for its containers that use the same volume. They are not errors yet, but they will become real errors when SELinuxMountReadWriteOncePod feature is expanded to all volume access modes.',
  },
  volume_manager_selinux_volume_context_mismatch_errors_total: {
    type: 'gauge',
    labels: ['volume_plugin', 'access_mode'],
    help: "Number of errors when a Pod uses a volume that is already mounted with a different SELinux context than the Pod needs. Kubelet can't start such a Pod then and it will retry, therefore value of this metric may not represent the actual nr. of Pods.",
  },
  volume_manager_selinux_volume_context_mismatch_warnings_total: {
    type: 'gauge',
    labels: ['volume_plugin', 'access_mode'],
    help: 'Number of errors when a Pod uses a volume that is already mounted with a different SELinux context than the Pod needs. They are not errors yet, but they will become real errors when SELinuxMountReadWriteOncePod feature is expanded to all volume access modes.',
  },
  volume_manager_selinux_volumes_admitted_total: {
    type: 'gauge',
    labels: ['volume_plugin', 'access_mode'],
    help: 'Number of volumes whose SELinux context was fine and will be mounted with mount -o context option.',
  },
  volume_manager_total_volumes: {
    type: 'gauge',
    help: 'Number of volumes in Volume Manager',
    labels: ['plugin_name', 'state'],
  },
  volume_operation_total_seconds: {
    type: 'histogram',
    labels: ['plugin_name', 'operation_name'],
    buckets: STORAGE_SECONDS,
    help: 'Storage operation end to end duration in seconds',
  },
  workqueue_adds_total: {
    type: 'counter',
    help: 'Total number of adds handled by workqueue',
    labels: ['name'],
    stability: 'BETA',
  },
  workqueue_depth: { type: 'gauge', help: 'Current depth of workqueue', labels: ['name'], stability: 'BETA' },
  workqueue_longest_running_processor_seconds: {
    type: 'gauge',
    labels: ['name'],
    stability: 'BETA',
    help: 'How many seconds has the longest running processor for workqueue been running.',
  },
  workqueue_queue_duration_seconds: {
    type: 'histogram',
    labels: ['name'],
    buckets: exponential(1e-8, 10, 10),
    stability: 'BETA',
    help: 'How long in seconds an item stays in workqueue before being requested.',
  },
  workqueue_retries_total: {
    type: 'counter',
    help: 'Total number of retries handled by workqueue',
    labels: ['name'],
    stability: 'BETA',
  },
  workqueue_unfinished_work_seconds: {
    type: 'gauge',
    labels: ['name'],
    stability: 'BETA',
    help: "How many seconds of work has done that is in progress and hasn't been observed by work_duration. Large values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which this increases.",
  },
  workqueue_work_duration_seconds: {
    type: 'histogram',
    labels: ['name'],
    buckets: exponential(1e-8, 10, 10),
    stability: 'BETA',
    help: 'How long in seconds processing an item from workqueue takes.',
  },
} as const satisfies Readonly<Record<string, MetricFamily>>;
