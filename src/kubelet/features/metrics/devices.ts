import type { AgentMetrics } from './agent-metrics.ts';

type Main = Pick<AgentMetrics, 'main'>;

export function noteDeviceRegistration({ main }: Main, resource: string): void {
  main.count('kubelet_device_plugin_registration_total', { resource_name: resource });
}

export function noteDeviceAllocation({ main }: Main, resource: string, durationMs: number): void {
  main.observe('kubelet_device_plugin_alloc_duration_seconds', { resource_name: resource }, durationMs / 1000);
}

/** `call` is undefined for requests that upstream counts in total only. */
export function notePodResourcesRequest(
  { main }: Main,
  version: string,
  call: 'list' | 'get' | 'get_allocatable' | undefined,
): void {
  const labels = { server_api_version: version };
  main.count('kubelet_pod_resources_endpoint_requests_total', labels);
  if (call === 'list') main.count('kubelet_pod_resources_endpoint_requests_list', labels);
  if (call === 'get') main.count('kubelet_pod_resources_endpoint_requests_get', labels);
  if (call === 'get_allocatable') main.count('kubelet_pod_resources_endpoint_requests_get_allocatable', labels);
}

/** Only requests for one pod can fail. */
export function notePodResourcesError({ main }: Main, version: string): void {
  main.count('kubelet_pod_resources_endpoint_errors_get', { server_api_version: version });
}
