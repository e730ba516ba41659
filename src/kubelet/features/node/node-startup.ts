import type { Clock } from '../../../base/clock.ts';

/**
 * The times of the node's start, in wall-clock milliseconds; undefined for steps that have not happened (upstream:
 * node_startup_latency_tracker.go).
 */
export interface NodeStartupTimes {
  readonly startedAtMs: number;
  firstAttemptAtMs?: number;
  /** When the node was registered, if this run of the agent created it. */
  registeredAtMs?: number;
  /** When the node was ready, if this run of the agent created it. */
  readyAtMs?: number;
}

export interface StartupSeconds {
  readonly name:
    | `kubelet_node_startup_${'pre_kubelet' | 'pre_registration' | 'registration' | 'post_registration'}_duration_seconds`
    | 'kubelet_node_startup_duration_seconds';
  readonly seconds: number;
}

/**
 * Computes how long each step took, under upstream's names. A node that existed before has none, and facts that the
 * machine does not provide are left out.
 */
export function computeStartupSeconds(
  { startedAtMs, firstAttemptAtMs, registeredAtMs, readyAtMs }: NodeStartupTimes,
  bootedAtMs: number | undefined,
): StartupSeconds[] {
  if (firstAttemptAtMs === undefined || registeredAtMs === undefined) return [];
  const steps: readonly [StartupSeconds['name'], number | undefined, number | undefined][] = [
    ['kubelet_node_startup_pre_kubelet_duration_seconds', bootedAtMs, startedAtMs],
    ['kubelet_node_startup_pre_registration_duration_seconds', startedAtMs, firstAttemptAtMs],
    ['kubelet_node_startup_registration_duration_seconds', firstAttemptAtMs, registeredAtMs],
    ['kubelet_node_startup_post_registration_duration_seconds', registeredAtMs, readyAtMs],
    ['kubelet_node_startup_duration_seconds', bootedAtMs, readyAtMs],
  ];
  return steps.flatMap(([name, fromMs, untilMs]) =>
    fromMs === undefined || untilMs === undefined ? [] : [{ name, seconds: (untilMs - fromMs) / 1000 }],
  );
}

/** Records the first time of each step, for metrics. */
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
