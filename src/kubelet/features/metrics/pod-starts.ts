import type { Pod } from '../../../api/core/pod.ts';
import { isStaticPod, isTerminalPhase } from '../../../api/pod.ts';
import type { PodStatus } from '../../../api/core/pod-status.ts';
import type { AgentMetrics } from './agent-metrics.ts';

interface Start {
  readonly firstSeenMs: number;
  /** From the start of the first pull to the end of the last one. */
  pull: { fromMs: number; untilMs: number } | undefined;
}

/** The limit of entries, more than the pods of a node. Entries whose end was not reported are dropped. */
const MOST = 2000;

/**
 * Measures how long pods took to start. Each pod counts once, when all its containers have started. Pods that already
 * ran when the agent started do not count. Static pods do not count if the time is measured from the creation of an
 * object (upstream: util/pod_startup_latency_tracker.go).
 */
export class PodStarts {
  readonly #metrics: Pick<AgentMetrics, 'main'>;
  readonly #nowMs: () => number;
  readonly #starting = new Map<string, Start>();
  readonly #done = new Set<string>();
  #firstNetworkPod = false;

  constructor(metrics: Pick<AgentMetrics, 'main'>, nowMs: () => number) {
    this.#metrics = metrics;
    this.#nowMs = nowMs;
  }

  pulled(uid: string, fromMs: number, untilMs: number): void {
    const start = this.#starting.get(uid);
    if (start === undefined) return;
    start.pull = {
      fromMs: Math.min(fromMs, start.pull?.fromMs ?? fromMs),
      untilMs: Math.max(untilMs, start.pull?.untilMs ?? untilMs),
    };
  }

  statusChanged(pod: Pod, status: PodStatus): void {
    const { uid } = pod.metadata;
    if (this.#done.has(uid)) return;
    const known = this.#starting.get(uid);
    const allStarted = haveAllStarted(pod, status);
    if (isTerminalPhase(status.phase) || (allStarted && known === undefined)) return this.#finish(uid);
    if (!allStarted) {
      if (known === undefined) bounded(this.#starting).set(uid, { firstSeenMs: this.#nowMs(), pull: undefined });
      return;
    }
    if (known !== undefined) this.#observe(pod, status, known);
    this.#finish(uid);
  }

  podGone(uid: string): void {
    this.#starting.delete(uid);
    this.#done.delete(uid);
  }

  #finish(uid: string): void {
    this.#starting.delete(uid);
    if (this.#done.size >= MOST) this.#done.delete(this.#done.values().next().value ?? uid);
    this.#done.add(uid);
  }

  #observe(pod: Pod, status: PodStatus, { firstSeenMs, pull }: Start): void {
    const { main } = this.#metrics;
    const nowMs = this.#nowMs();
    main.observe('kubelet_pod_start_duration_seconds', {}, Math.max(0, nowMs - firstSeenMs) / 1000);
    const createdMs = Date.parse(pod.metadata.creationTimestamp ?? '');
    if (isStaticPod(pod) || Number.isNaN(createdMs)) return;
    const total = Math.max(0, nowMs - createdMs) / 1000;
    const without = Math.max(
      0,
      total - (pull === undefined ? 0 : (pull.untilMs - pull.fromMs) / 1000) - initSeconds(status),
    );
    main.observe('kubelet_pod_start_total_duration_seconds', {}, total);
    main.observe('kubelet_pod_start_sli_duration_seconds', {}, without);
    if (this.#firstNetworkPod || pod.spec.hostNetwork === true) return;
    this.#firstNetworkPod = true;
    main.set('kubelet_first_network_pod_start_sli_duration_seconds', {}, without);
  }
}

function bounded(map: Map<string, Start>): Map<string, Start> {
  if (map.size >= MOST) map.delete(map.keys().next().value ?? '');
  return map;
}

function haveAllStarted(pod: Pod, status: PodStatus): boolean {
  const statuses = status.containerStatuses ?? [];
  return statuses.length >= pod.spec.containers.length && statuses.every(({ state }) => state?.running !== undefined);
}

/** Returns the seconds from the start of the first ended init container to the end of the last one. */
function initSeconds({ initContainerStatuses = [] }: PodStatus): number {
  const ended = initContainerStatuses.flatMap(({ state }) =>
    state?.terminated === undefined ? [] : [state.terminated],
  );
  const begins = ended.map(({ startedAt }) => Date.parse(startedAt ?? '')).filter((ms) => !Number.isNaN(ms));
  const ends = ended.map(({ finishedAt }) => Date.parse(finishedAt ?? '')).filter((ms) => !Number.isNaN(ms));
  if (begins.length === 0 || ends.length === 0) return 0;
  return Math.max(0, Math.max(...ends) - Math.min(...begins)) / 1000;
}
