/** What is counted of scheduling, for Prometheus. */
export interface SchedulingMetrics {
  /** A try to give a pod a node has ended; a pod that is bound has had `scheduled`. */
  attempted(attempt: SchedulingAttempt): void;
}

export interface SchedulingAttempt {
  readonly profile: string;
  readonly result: 'scheduled' | 'unschedulable' | 'error';
  readonly durationMs: number;
}
