import type { MetricFamily } from './metric-family.ts';

/**
 * The standard metrics of a process in Prometheus clients. The `nodejs_` families replace upstream's `go_` families.
 */
export const processFamilies = {
  nodejs_eventloop_utilization_ratio: {
    type: 'gauge',
    help: 'Share of time in which the event loop was busy, since the previous scrape.',
  },
  nodejs_heap_size_total_bytes: { type: 'gauge', help: 'Size of the reserved JavaScript heap in bytes.' },
  nodejs_heap_size_used_bytes: { type: 'gauge', help: 'Size of the used JavaScript heap in bytes.' },
  process_cpu_seconds_total: { type: 'counter', help: 'CPU time of the process in user and kernel mode, in seconds.' },
  process_max_fds: { type: 'gauge', help: 'Limit of file descriptors that the process may open.' },
  process_network_receive_bytes_total: {
    type: 'counter',
    help: 'Bytes that the process received over the network.',
  },
  process_network_transmit_bytes_total: {
    type: 'counter',
    help: 'Bytes that the process sent over the network.',
  },
  process_open_fds: { type: 'gauge', help: 'File descriptors that the process has open.' },
  process_resident_memory_bytes: { type: 'gauge', help: 'Resident memory of the process in bytes.' },
  process_start_time_seconds: { type: 'gauge', help: 'Time at which the process started, in seconds since the epoch.' },
  process_virtual_memory_bytes: { type: 'gauge', help: 'Virtual memory of the process in bytes.' },
  process_virtual_memory_max_bytes: { type: 'gauge', help: 'Limit of the virtual memory of the process in bytes.' },
} as const satisfies Readonly<Record<string, MetricFamily>>;

export type ProcessUsage = { [Name in keyof typeof processFamilies]?: number };
