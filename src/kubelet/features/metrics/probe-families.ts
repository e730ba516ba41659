// Names, kinds, labels, buckets and help of upstream's families (prober/prober_manager.go, component-base slis): tools match them.
import { DEFAULT } from './buckets.ts';
import type { MetricFamily } from './metric-family.ts';

const startTime = {
  process_start_time_seconds: { type: 'gauge', help: 'Start time of the process since unix epoch in seconds.' },
} as const;

export const probeFamilies = {
  ...startTime,
  prober_probe_duration_seconds: {
    type: 'histogram',
    help: 'Duration in seconds for a probe response.',
    labels: ['probe_type', 'container', 'pod', 'namespace'],
    buckets: DEFAULT,
  },
  prober_probe_total: {
    type: 'counter',
    labels: ['probe_type', 'result', 'container', 'pod', 'namespace', 'pod_uid'],
    stability: 'BETA',
    help: 'Cumulative number of a liveness, readiness or startup probe for a container by result.',
  },
} as const satisfies Readonly<Record<string, MetricFamily>>;

export const sliFamilies = {
  ...startTime,
  kubernetes_healthcheck: {
    type: 'gauge',
    help: 'This metric records the result of a single healthcheck.',
    labels: ['name', 'type'],
    stability: 'STABLE',
  },
  kubernetes_healthchecks_total: {
    type: 'counter',
    help: 'This metric records the results of all healthcheck.',
    labels: ['name', 'type', 'status'],
    stability: 'STABLE',
  },
} as const satisfies Readonly<Record<string, MetricFamily>>;
