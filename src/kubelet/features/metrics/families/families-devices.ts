// Names, types, labels and buckets are those of upstream's families. The help texts are our own.
import { defaultBuckets, DRA_SECONDS } from './buckets.ts';
import type { MetricFamily } from './metric-family.ts';

export const deviceFamilies = {
  dra_grpc_operations_duration_seconds: {
    type: 'histogram',
    labels: ['driver_name', 'method_name', 'grpc_status_code'],
    buckets: DRA_SECONDS,
    help: 'Time that DRA drivers take to respond to a call, in seconds.',
  },
  dra_operations_duration_seconds: {
    type: 'histogram',
    labels: ['operation_name', 'is_error'],
    buckets: DRA_SECONDS,
    help: 'Time to prepare or unprepare all ResourceClaims of a pod, in seconds.',
  },
  dra_resource_claims_in_use: {
    type: 'gauge',
    labels: ['driver_name'],
    help: 'ResourceClaims that pods of this node use, by driver; <any> counts each claim once.',
  },
  kubelet_podcertificate_states: {
    type: 'gauge',
    labels: ['signer_name', 'state'],
    help: 'Certificates of projected volumes, by signer and state.',
  },
  kubelet_device_plugin_alloc_duration_seconds: {
    type: 'histogram',
    labels: ['resource_name'],
    buckets: defaultBuckets,
    help: 'Time that device plugins take to respond to Allocate, in seconds.',
  },
  kubelet_device_plugin_registration_total: {
    type: 'counter',
    labels: ['resource_name'],
    help: 'Registrations of device plugins.',
  },
  kubelet_pod_resources_endpoint_errors_get: {
    type: 'counter',
    labels: ['server_api_version'],
    help: 'Get requests to the Pod Resources API for pods that do not exist.',
  },
  kubelet_pod_resources_endpoint_requests_get: {
    type: 'counter',
    labels: ['server_api_version'],
    help: 'Get requests to the Pod Resources API.',
  },
  kubelet_pod_resources_endpoint_requests_get_allocatable: {
    type: 'counter',
    labels: ['server_api_version'],
    help: 'GetAllocatableResources requests to the Pod Resources API.',
  },
  kubelet_pod_resources_endpoint_requests_list: {
    type: 'counter',
    labels: ['server_api_version'],
    help: 'List requests to the Pod Resources API.',
  },
  kubelet_pod_resources_endpoint_requests_total: {
    type: 'counter',
    labels: ['server_api_version'],
    help: 'Requests to the Pod Resources API, by version.',
  },
  kubelet_pod_watch_events_dropped_total: {
    type: 'counter',
    help: 'Events that watches of the Pods API lost because their readers were too slow.',
  },
} as const satisfies Record<string, MetricFamily>;
