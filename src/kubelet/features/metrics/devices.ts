import type { DraCallRecord } from '../../ports/dra-drivers.ts';
import type { AgentMetrics } from './agent-metrics.ts';

type Main = Pick<AgentMetrics, 'main'>;

export function noteDeviceRegistration({ main }: Main, resource: string): void {
  main.count('kubelet_device_plugin_registration_total', { resource_name: resource });
}

export function noteDeviceAllocation({ main }: Main, resource: string, durationMs: number): void {
  main.observe('kubelet_device_plugin_alloc_duration_seconds', { resource_name: resource }, durationMs / 1000);
}

/** Counts a request. `call` is undefined for requests that upstream counts in total only. */
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

/** Counts an error. Only requests for one pod can fail. */
export function notePodResourcesError({ main }: Main, version: string): void {
  main.count('kubelet_pod_resources_endpoint_errors_get', { server_api_version: version });
}

/** Counts a watch of the Pods API that lost events. */
export function notePodWatchDropped({ main }: Main): void {
  main.count('kubelet_pod_watch_events_dropped_total', {});
}

/** Counts that a pod's claims were prepared or unprepared. */
export function noteDraOperation(
  { main }: Main,
  { name, isError, durationMs }: { readonly name: string; readonly isError: boolean; readonly durationMs: number },
): void {
  const labels = { operation_name: name, is_error: String(isError) };
  main.observe('dra_operations_duration_seconds', labels, durationMs / 1000);
}

export function noteDraCall({ main }: Main, driver: string, { method, code, durationMs }: DraCallRecord): void {
  const labels = { driver_name: driver, method_name: method, grpc_status_code: code };
  main.observe('dra_grpc_operations_duration_seconds', labels, durationMs / 1000);
}

/** Sets the number of claims. Drivers without claims are left out. */
export function countClaims({ main }: Main, byDriver: ReadonlyMap<string, number>): void {
  main.clear('dra_resource_claims_in_use');
  for (const [driver, count] of byDriver) main.set('dra_resource_claims_in_use', { driver_name: driver }, count);
}

/**
 * Sets the number of pod certificates by signer. Pods name the signers, so only those of existing certificates are
 * shown.
 */
export function countPodCertificates(
  { main }: Main,
  phases: readonly { readonly signerName: string; readonly phase: string }[],
): void {
  main.clear('kubelet_podcertificate_states');
  const counts = new Map<string, number>();
  for (const { signerName, phase } of phases) {
    const key = `${phase} ${signerName}`;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    main.set('kubelet_podcertificate_states', { signer_name: signerName, state: phase }, count);
  }
}
