import type { AgentMetrics } from './agent-metrics.ts';

export interface ProbeSeen {
  readonly type: 'liveness' | 'readiness' | 'startup';
  readonly container: string;
  readonly pod: { name: string; namespace: string; uid: string };
  /** `unknown` means that the agent or the node was late. */
  readonly outcome: 'successful' | 'failed' | 'unknown';
  readonly durationMs: number;
}

const typeNames = { liveness: 'Liveness', readiness: 'Readiness', startup: 'Startup' } as const;
const results = ['successful', 'failed', 'unknown'] as const;

type Series = { probe_type: string; container: string; pod: string; namespace: string };

/** Counts probes by their results. The series of a pod are removed with it. */
export class ProbeCounts {
  readonly #metrics: Pick<AgentMetrics, 'probes'>;
  readonly #series = new Map<string, Map<string, Series>>();

  constructor(metrics: Pick<AgentMetrics, 'probes'>) {
    this.#metrics = metrics;
  }

  seen({ type, container, pod, outcome, durationMs }: ProbeSeen): void {
    const { probes } = this.#metrics;
    const series: Series = { probe_type: typeNames[type], container, pod: pod.name, namespace: pod.namespace };
    const own = this.#series.get(pod.uid) ?? new Map<string, Series>();
    this.#series.set(pod.uid, own.set(`${type}/${container}`, series));
    probes.count('prober_probe_total', { ...series, result: outcome, pod_uid: pod.uid });
    if (outcome === 'successful') probes.observe('prober_probe_duration_seconds', series, durationMs / 1000);
  }

  podGone(uid: string): void {
    const { probes } = this.#metrics;
    for (const series of this.#series.get(uid)?.values() ?? []) {
      probes.remove('prober_probe_duration_seconds', series);
      for (const result of results) probes.remove('prober_probe_total', { ...series, result, pod_uid: uid });
    }
    this.#series.delete(uid);
  }
}
