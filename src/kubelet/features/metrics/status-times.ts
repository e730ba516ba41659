import type { AgentMetrics } from './agent-metrics.ts';

/** The limit of entries, more than the pods of a node. Entries of statuses that are never published are dropped. */
const MOST = 2000;

/**
 * Measures how long statuses took to reach the API server, from the first unpublished change (upstream:
 * status_manager.go syncPod).
 */
export class StatusTimes {
  readonly #metrics: Pick<AgentMetrics, 'main'>;
  readonly #monotonicMs: () => number;
  readonly #sinceMs = new Map<string, number>();

  constructor(metrics: Pick<AgentMetrics, 'main'>, monotonicMs: () => number) {
    this.#metrics = metrics;
    this.#monotonicMs = monotonicMs;
  }

  changed(uid: string): void {
    if (this.#sinceMs.has(uid)) return;
    if (this.#sinceMs.size >= MOST) this.#sinceMs.delete(this.#sinceMs.keys().next().value ?? '');
    this.#sinceMs.set(uid, this.#monotonicMs());
  }

  published(uid: string): void {
    const sinceMs = this.#sinceMs.get(uid);
    if (sinceMs === undefined) return;
    this.#sinceMs.delete(uid);
    this.#metrics.main.observe('kubelet_pod_status_sync_duration_seconds', {}, (this.#monotonicMs() - sinceMs) / 1000);
  }
}
