import type { Clock } from '../../../base/clock.ts';

/** When the node came to be, in wall milliseconds; undefined for what has not happened (upstream: node_startup_latency_tracker.go). */
export interface NodeStartupTimes {
  startedAtMs: number;
  firstAttemptAtMs?: number;
  /** Only of a node that this run of the agent made. */
  registeredAtMs?: number;
  /** Likewise. */
  readyAtMs?: number;
}

/** Remembers the first time of each step, for metrics. */
export class NodeStartup {
  readonly #clock: Clock;
  readonly #times: NodeStartupTimes;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#times = { startedAtMs: clock.nowMs() };
  }

  attempted(): void {
    this.#times.firstAttemptAtMs ??= this.#clock.nowMs();
  }

  registeredNew(): void {
    if (this.#times.firstAttemptAtMs !== undefined) this.#times.registeredAtMs ??= this.#clock.nowMs();
  }

  ready(): void {
    if (this.#times.registeredAtMs !== undefined) this.#times.readyAtMs ??= this.#clock.nowMs();
  }

  get times(): Readonly<NodeStartupTimes> {
    return this.#times;
  }
}
