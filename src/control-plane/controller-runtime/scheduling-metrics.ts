/** Observes scheduling, for metrics. */
export interface SchedulingMetrics {
  /** A scheduling attempt has ended; a bound pod has the result `scheduled`. */
  attempted(attempt: SchedulingAttempt): void;
}

export interface SchedulingAttempt {
  readonly profile: string;
  readonly result: 'scheduled' | 'unschedulable' | 'error';
  readonly durationMs: number;
}
