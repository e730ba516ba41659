import type { MetricFamily } from './metric-family.ts';

/** What Prometheus' clients say of any process; the `nodejs_` ones stand where upstream has `go_`. */
export const processFamilies = {
  nodejs_eventloop_utilization_ratio: {
    type: 'gauge',
    help: 'Share of the time since the last look in which the event loop was busy.',
  },
  nodejs_heap_size_total_bytes: { type: 'gauge', help: 'JavaScript heap that is reserved, in bytes.' },
  nodejs_heap_size_used_bytes: { type: 'gauge', help: 'JavaScript heap in use, in bytes.' },
  process_cpu_seconds_total: { type: 'counter', help: 'Total user and system CPU time spent in seconds.' },
  process_max_fds: { type: 'gauge', help: 'Maximum number of open file descriptors.' },
  process_network_receive_bytes_total: {
    type: 'counter',
    help: 'Number of bytes received by the process over the network.',
  },
  process_network_transmit_bytes_total: {
    type: 'counter',
    help: 'Number of bytes sent by the process over the network.',
  },
  process_open_fds: { type: 'gauge', help: 'Number of open file descriptors.' },
  process_resident_memory_bytes: { type: 'gauge', help: 'Resident memory size in bytes.' },
  process_start_time_seconds: { type: 'gauge', help: 'Start time of the process since unix epoch in seconds.' },
  process_virtual_memory_bytes: { type: 'gauge', help: 'Virtual memory size in bytes.' },
  process_virtual_memory_max_bytes: { type: 'gauge', help: 'Maximum amount of virtual memory available in bytes.' },
} as const satisfies Readonly<Record<string, MetricFamily>>;

export type ProcessUsage = { [Name in keyof typeof processFamilies]?: number };
