import type { Pod } from '../../../api/core/pod.ts';
import type { Clock } from '../../../base/clock.ts';
import type { ProbeType } from '../../model/probe-result.ts';
import type { AgentMetrics } from './agent-metrics.ts';
import { createAgentMetrics } from './agent-metrics.ts';
import { PodStarts } from './pod-starts.ts';
import { ProbeCounts } from './probe-counts.ts';

/** The metrics, and the notifications from which they are computed. It is created before everything else. */
export interface Observation {
  readonly metrics: AgentMetrics;
  readonly starts: PodStarts;
  readonly probes: ProbeCounts;
}

export function createObservation(nowMs: () => number): Observation {
  const metrics = createAgentMetrics();
  return { metrics, starts: new PodStarts(metrics, nowMs), probes: new ProbeCounts(metrics) };
}

const probeResults = {
  success: 'successful',
  warning: 'successful',
  failure: 'failed',
  timeout: 'failed',
  error: 'unknown',
  inconclusive: 'unknown',
} as const;

type ProbeListener = (
  probe: { type: ProbeType; pod: Pod; container: string },
  outcome: keyof typeof probeResults | 'gone',
  facts: { durationMs: number },
) => void;

export function observeProbe({ probes }: Observation): ProbeListener {
  return ({ type, pod, container }, outcome, { durationMs }) => {
    if (outcome !== 'gone')
      probes.seen({ type, container, pod: pod.metadata, outcome: probeResults[outcome], durationMs });
  };
}

/** Returns the problem, or undefined if there is none. */
type HealthCheck = () => string | undefined;

/** Wraps checks, and counts their results (upstream: component-base/metrics/prometheus/slis). */
export function observedChecks(
  { metrics: { slis } }: Observation,
  checks: Readonly<Record<string, HealthCheck>>,
): Record<string, HealthCheck> {
  const observed =
    (name: string, check: HealthCheck): HealthCheck =>
    () => {
      const problem = check();
      slis.set('kubernetes_healthcheck', { name, type: 'healthz' }, problem === undefined ? 1 : 0);
      slis.count('kubernetes_healthchecks_total', {
        name,
        type: 'healthz',
        status: problem === undefined ? 'success' : 'error',
      });
      return problem;
    };
  return Object.fromEntries(Object.entries(checks).map(([name, check]) => [name, observed(name, check)]));
}

/**
 * Observes the duration of relists, the intervals between them, and the duration of reading single pods. `nowMs` is
 * monotonic.
 */
export function observeRelists(
  { metrics: { main } }: Observation,
  nowMs: () => number,
): { onRelist: (durationMs: number) => void; onPodRead: (durationMs: number) => void } {
  let lastMs: number | undefined;
  return {
    onRelist: (durationMs) => {
      const endMs = nowMs();
      main.observe('kubelet_pleg_relist_duration_seconds', {}, durationMs / 1000);
      if (lastMs !== undefined) main.observe('kubelet_pleg_relist_interval_seconds', {}, (endMs - lastMs) / 1000);
      lastMs = endMs;
    },
    onPodRead: (durationMs) => main.observe('kubelet_pleg_pod_relist_duration_seconds', {}, durationMs / 1000),
  };
}

const hookFamilies = {
  httpFallback: 'kubelet_lifecycle_handler_http_fallbacks_total',
  sleepCutShort: 'kubelet_sleep_action_terminated_early_total',
} as const;

/** Counts lifecycle hooks that did not run as configured. */
export function observeHooks({ metrics }: Observation): (kind: keyof typeof hookFamilies) => void {
  return (kind) => metrics.main.count(hookFamilies[kind]);
}

/** Records when PLEG was last active, on the wall clock. `lastActiveMs` is monotonic. */
export function noteRuntimeSeen(
  { main }: Pick<AgentMetrics, 'main'>,
  lastActiveMs: number | undefined,
  clock: Pick<Clock, 'nowMs' | 'monotonicMs'>,
): void {
  if (lastActiveMs === undefined) return;
  main.set('kubelet_pleg_last_seen_seconds', {}, (clock.nowMs() - clock.monotonicMs() + lastActiveMs) / 1000);
}
