/**
 * Why a pod is not settled: the step that is blocked, the cause, since when, the last error and the next attempt. It is
 * a plain value in the worker's state, so it costs nothing until it is requested. Times are wall time in milliseconds.
 */
export interface Blocker {
  /**
   * The step that the agent performs or waits for: `pull image docker.io/x`, `volume data`, `start container web`,
   * `readiness of web`.
   */
  readonly step: string;
  /** One sentence in plain words. */
  readonly cause: string;
  readonly sinceMs: number;
  lastError?: string;
  /** When the agent tries again; absent when it waits for an event rather than a time. */
  nextTryAtMs?: number;
  /** Details of the cause, one line each, such as the verdict for each node. */
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
  /** How many times in a row the line was recorded; `atMs` is the last time. */
  count: number;
}

export interface PodExplanation {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly phase: string;
  readonly settled: boolean;
  readonly blockers: readonly Blocker[];
  /** Suggestions: objects, keys and drivers that the pod refers to and that do not exist. */
  readonly suggestions: readonly string[];
  readonly timeline: readonly TimelineEntry[];
}
