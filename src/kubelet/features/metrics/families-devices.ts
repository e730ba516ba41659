// Names, types, labels and buckets are those of upstream's families. The help texts are our own.
import { DEFAULT } from './buckets.ts';
import type { MetricFamily } from './metric-family.ts';

export const deviceFamilies = {
  kubelet_device_plugin_alloc_duration_seconds: {
    type: 'histogram',
    labels: ['resource_name'],
    buckets: DEFAULT,
    help: 'Time that device plugins take to respond to Allocate, in seconds.',
  },
  kubelet_device_plugin_registration_total: {
    type: 'counter',
    labels: ['resource_name'],
    help: 'Registrations of device plugins.',
  },
} as const satisfies Record<string, MetricFamily>;
