import { Counter, Gauge, Histogram } from 'prom-client';
import type { Registry as MetricRegistry } from 'prom-client';

/** The exponential buckets from 1 ms, as in upstream. */
const attemptBuckets = Array.from({ length: 15 }, (_, index) => 0.001 * 2 ** index);

/** The metrics of a scheduler, under upstream's names. */
export class SchedulingFigures {
  readonly #attempts: Counter;
  readonly #durations: Histogram;
  #pending: () => Readonly<Record<string, number>> = () => ({});

  constructor(registry: MetricRegistry) {
    const registers = [registry];
    this.#attempts = new Counter({
      name: 'scheduler_schedule_attempts_total',
      help: 'Scheduling attempts, by result.',
      labelNames: ['result', 'profile'],
      registers,
    });
    this.#durations = new Histogram({
      name: 'scheduler_scheduling_attempt_duration_seconds',
      help: 'Duration of scheduling attempts including binding, in seconds.',
      labelNames: ['result', 'profile'],
      buckets: attemptBuckets,
      registers,
    });
    const pending = new Gauge({
      name: 'scheduler_pending_pods',
      help: 'Pending pods, by queue.',
      labelNames: ['queue'],
      registers,
      collect: () => {
        for (const [queue, count] of Object.entries(this.#pending())) pending.set({ queue }, count);
      },
    });
  }

  attempted({
    durationMs,
    ...labels
  }: {
    readonly profile: string;
    readonly result: string;
    readonly durationMs: number;
  }): void {
    this.#attempts.inc(labels);
    this.#durations.observe(labels, durationMs / 1000);
  }

  /** Sets the function that counts pods. It is called at each scrape. */
  countWith(count: () => Readonly<Record<string, number>>): void {
    this.#pending = count;
  }
}
