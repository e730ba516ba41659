/**
 * Why a pod is not settled: which step it is blocked on, the cause, since when, the last error and the next try. A
 * plain value in the worker's state, so it costs nothing until it is requested. Times are wall milliseconds.
 */
export interface Blocker {
  /**
   * What the agent is doing or waiting to do: `pull image docker.io/x`, `volume data`, `start container web`,
   * `readiness of web`.
   */
  step: string;
  /** One sentence a person understands. */
  cause: string;
  sinceMs: number;
  lastError?: string;
  /** When the agent tries again; absent when it waits for an event rather than a time. */
  nextTryAtMs?: number;
  /** One line for each thing that the cause is about, such as what each node says. */
  details?: readonly string[];
  /** What would help. */
  cures?: readonly string[];
}

/** One line of the bounded record of decisions and results of a pod. */
export interface TimelineEntry {
  atMs: number;
  kind: 'decision' | 'result' | 'event' | 'status';
  /** `Normal` or `Warning`, as Kubernetes events say it. */
  type: 'Normal' | 'Warning';
  /** A reason from api/reasons.ts, or a step kind. */
  reason: string;
  message: string;
  /** How often in a row the same line came; `atMs` is the last time. */
  count: number;
}

export interface PodExplanation {
  uid: string;
  namespace: string;
  name: string;
  phase: string;
  settled: boolean;
  blockers: readonly Blocker[];
  /** What would help: objects, keys and drivers that the pod names and that are not there. */
  cures: readonly string[];
  timeline: readonly TimelineEntry[];
}
