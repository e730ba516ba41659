// Names, types, labels and buckets are those of upstream's families (prober/prober_manager.go, component-base slis),
// because tools match them. The help texts are our own.
import { defaultBuckets } from './buckets.ts';
import type { MetricFamily } from './metric-family.ts';

const startTime = {
  process_start_time_seconds: { type: 'gauge', help: 'Time at which the process started, in seconds since the epoch.' },
} as const;

export const probeFamilies = {
  ...startTime,
  prober_probe_duration_seconds: {
    type: 'histogram',
    help: 'Duration of probes of a container in seconds, by probe type.',
    labels: ['probe_type', 'container', 'pod', 'namespace'],
    buckets: defaultBuckets,
  },
  prober_probe_total: {
    type: 'counter',
    labels: ['probe_type', 'result', 'container', 'pod', 'namespace', 'pod_uid'],
    stability: 'BETA',
    help: 'Liveness, readiness and startup probes of a container, by result.',
  },
} as const satisfies Readonly<Record<string, MetricFamily>>;

export const sliFamilies = {
  ...startTime,
  kubernetes_healthcheck: {
    type: 'gauge',
    help: 'Current result of each health check: 1 for success, 0 for failure.',
    labels: ['name', 'type'],
    stability: 'STABLE',
  },
  kubernetes_healthchecks_total: {
    type: 'counter',
    help: 'Executions of each health check, by status.',
    labels: ['name', 'type', 'status'],
    stability: 'STABLE',
  },
} as const satisfies Readonly<Record<string, MetricFamily>>;
