import type { AgentMetrics } from './agent-metrics.ts';

type Main = Pick<AgentMetrics, 'main'>;

export function noteDeviceRegistration({ main }: Main, resource: string): void {
  main.count('kubelet_device_plugin_registration_total', { resource_name: resource });
}

export function noteDeviceAllocation({ main }: Main, resource: string, durationMs: number): void {
  main.observe('kubelet_device_plugin_alloc_duration_seconds', { resource_name: resource }, durationMs / 1000);
}
