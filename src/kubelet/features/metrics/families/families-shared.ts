// Names, types, labels and buckets are those of upstream's families, because tools, dashboards and alerts match them.
// The help texts are our own.
import type { MetricFamily } from './metric-family.ts';
import { clientBytes, clientSeconds, storageSeconds } from './buckets.ts';

export const sharedFamilies = {
  csi_operations_seconds: {
    type: 'histogram',
    labels: ['driver_name', 'method_name', 'grpc_status_code', 'migrated'],
    buckets: storageSeconds,
    help: 'Duration of calls to CSI drivers in seconds, by gRPC status.',
  },
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
    help: 'Build of this program in labels; the value is always 1.',
  },
  kubernetes_feature_enabled: {
    type: 'gauge',
    labels: ['name', 'stage'],
    stability: 'BETA',
    help: 'Feature gates with their stage: 1 for enabled, 0 for disabled.',
  },
  plugin_manager_total_plugins: {
    type: 'gauge',
    help: 'Plugin sockets known to the plugin manager.',
    labels: ['socket_path', 'state'],
  },
  reconstruct_volume_operations_total: {
    type: 'counter',
    help: 'Volumes of an earlier run that the agent found at its start, whether or not it could take them over.',
  },
  registered_metrics_total: {
    type: 'counter',
    labels: ['stability_level', 'deprecated_version'],
    stability: 'BETA',
    help: 'Registered metric families, by stability level and version of deprecation.',
  },
  rest_client_exec_plugin_ttl_seconds: {
    type: 'gauge',
    help: 'Seconds until the first client certificate of an exec credential plugin expires; negative once it has expired, +Inf without such a certificate.',
  },
  rest_client_rate_limiter_duration_seconds: {
    type: 'histogram',
    labels: ['verb', 'host'],
    buckets: clientSeconds,
    help: 'Time that requests to the API server waited for the rate limiter of the client, in seconds.',
  },
  rest_client_request_duration_seconds: {
    type: 'histogram',
    labels: ['verb', 'host'],
    buckets: clientSeconds,
    help: 'Duration of requests to the API server in seconds.',
  },
  rest_client_request_retries_total: {
    type: 'counter',
    labels: ['code', 'verb', 'host'],
    help: 'Repeated requests to the API server, by status code.',
  },
  rest_client_request_size_bytes: {
    type: 'histogram',
    labels: ['verb', 'host'],
    buckets: clientBytes,
    help: 'Size of request bodies sent to the API server, in bytes.',
  },
  rest_client_requests_total: {
    type: 'counter',
    help: 'Requests to the API server, by status code.',
    labels: ['code', 'method', 'host'],
  },
  rest_client_response_size_bytes: {
    type: 'histogram',
    labels: ['verb', 'host'],
    buckets: clientBytes,
    help: 'Size of response bodies from the API server, in bytes.',
  },
  storage_operation_duration_seconds: {
    type: 'histogram',
    labels: ['volume_plugin', 'operation_name', 'status', 'migrated'],
    buckets: storageSeconds,
    help: 'Duration of volume operations in seconds.',
  },
  volume_manager_total_volumes: {
    type: 'gauge',
    help: 'Volumes of the volume manager, by plugin and state.',
    labels: ['plugin_name', 'state'],
  },
} as const satisfies Readonly<Record<string, MetricFamily>>;
