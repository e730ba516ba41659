/**
 * Why a pod is not settled: which step it is blocked on, the cause, since when, the last error and the next try. A
 * plain value in the worker's state, so it costs nothing until it is requested. Times are wall milliseconds.
 */
export interface Blocker {
  /**
   * What the agent is doing or waiting to do: `pull image docker.io/x`, `volume data`, `start container web`,
   * `readiness of web`.
   */
  readonly step: string;
  /** One sentence in plain words. */
  readonly cause: string;
  readonly sinceMs: number;
  lastError?: string;
  /** When the agent tries again; absent when it waits for an event rather than a time. */
  nextTryAtMs?: number;
  /** One line for each thing that the cause is about, such as what each node says. */
  readonly details?: readonly string[];
  /** Suggestions. */
  readonly suggestions?: readonly string[];
}

/** One line of the bounded record of decisions and results of a pod. */
export interface TimelineEntry {
  atMs: number;
  readonly kind: 'decision' | 'result' | 'event' | 'status';
  /** `Normal` or `Warning`, as Kubernetes events say it. */
  readonly type: 'Normal' | 'Warning';
  /** A reason from api/reasons.ts, or a step kind. */
  readonly reason: string;
  readonly message: string;
  /** How often in a row the same line came; `atMs` is the last time. */
  count: number;
}

export interface PodExplanation {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly phase: string;
  readonly settled: boolean;
  readonly blockers: readonly Blocker[];
  /** Suggestions: missing objects, keys and drivers that the pod refers to. */
  readonly suggestions: readonly string[];
  readonly timeline: readonly TimelineEntry[];
}
