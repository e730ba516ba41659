import type { BackoffCurve } from '../../base/backoff.ts';
import { backoffDelayMs } from '../../base/backoff.ts';
import type { Clock } from '../../base/clock.ts';
import { errorMessage } from '../../base/errors.ts';
import type { Loop } from '../../base/loop.ts';
import { createLoop } from '../../base/loop.ts';
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { ContainerRuntime, RuntimeHealth } from '../ports/runtime.ts';

export interface RuntimeMonitorOptions {
  readonly runtime: Pick<ContainerRuntime, 'status'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Returns further reasons not to sync, such as an unhealthy PLEG. */
  readonly moreErrors: () => readonly string[];
}

/** The polling period; errors count only after 30 s without success (upstream: kubelet.go updateRuntimeUp). */
const PERIOD_MS = 5000;
/** The polling delays after an error: short at first, so that a short outage ends at once, and later once a second. */
const retry: BackoffCurve = { initialMs: 100, maxMs: 1000, factor: 1.5 };
const DOWN_AFTER_MS = 30_000;

/**
 * Tracks whether the runtime and its network are up, and notifies listeners as soon as that changes, or the runtime
 * answers again.
 */
export class RuntimeMonitor {
  readonly #options: RuntimeMonitorOptions;
  readonly #loop: Loop;
  readonly #listeners = new Set<() => void>();
  #health: RuntimeHealth | undefined;
  #lastError = '';
  #lastSuccessMs: number | undefined;
  #checksInTrouble = 0;
  #reported = '';

  constructor(options: RuntimeMonitorOptions) {
    this.#options = options;
    this.#loop = createLoop({
      name: 'runtime monitor',
      clock: options.clock,
      random: options.random,
      log: options.log,
      periodMs: () => (this.#checksInTrouble === 0 ? PERIOD_MS : backoffDelayMs(retry, this.#checksInTrouble)),
      pass: () => this.#check(),
    });
  }

  /**
   * Calls `listener` when the runtime or its network goes up or down, and when the runtime answers again; returns the
   * function that unsubscribes.
   */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Checks now, because something suggests a change, such as a broken event stream. */
  wake(): void {
    this.#loop.wake();
  }

  get health(): RuntimeHealth | undefined {
    return this.#health;
  }

  /** Returns the reasons why no pod may be synced. */
  runtimeErrors(): string[] {
    return this.#errors(`container runtime is down: ${this.#lastError}`);
  }

  /** Returns the same reasons as texts for users. No pod is synced in this state, so no pod's status can show them. */
  problems(): { message: string; blocking: boolean }[] {
    return this.runtimeErrors().map((error) => ({
      message: `no pod is started or changed: ${error}`,
      blocking: true,
    }));
  }

  /**
   * Returns the same reasons in upstream's words, for the node condition Ready. The texts change only when the state
   * does.
   */
  readyErrors(): string[] {
    return this.#errors('container runtime is down');
  }

  #errors(down: string): string[] {
    const errors = [...this.#options.moreErrors()];
    const { clock } = this.#options;
    if (this.#lastSuccessMs === undefined) errors.push('container runtime status check may not have completed yet');
    else if (clock.monotonicMs() - this.#lastSuccessMs > DOWN_AFTER_MS) errors.push(down);
    if (this.#health?.runtimeReady.ok === false)
      errors.push(`container runtime not ready: ${describe('RuntimeReady', this.#health.runtimeReady)}`);
    return errors;
  }

  /** Returns why only pods on the host's network may be synced, or undefined when the network is ready. */
  networkError(): string | undefined {
    const network = this.#health?.networkReady;
    return network?.ok === false
      ? `container runtime network not ready: ${describe('NetworkReady', network)}`
      : undefined;
  }

  async #check(): Promise<void> {
    const wasAway = this.#lastError !== '';
    try {
      this.#health = await this.#options.runtime.status({ timeoutMs: DOWN_AFTER_MS });
      this.#lastSuccessMs = this.#options.clock.monotonicMs();
      this.#lastError = '';
    } catch (error) {
      if (this.#lastError === '')
        this.#options.log.error('container runtime status cannot be read', { error: errorMessage(error) });
      this.#lastError = errorMessage(error);
    }
    const errors = this.runtimeErrors();
    const networkError = this.networkError();
    this.#checksInTrouble =
      this.#lastError === '' && errors.length === 0 && networkError === undefined ? 0 : this.#checksInTrouble + 1;
    // Other reasons not to sync are re-evaluated here too: no other part reports when they end.
    const state = JSON.stringify([errors.length > 0, networkError]);
    // After an outage that was too short to count, failed calls wait for their next try.
    const isBack = wasAway && this.#lastError === '';
    if (state === this.#reported && !isBack) return;
    this.#reported = state;
    for (const listener of this.#listeners) listener();
  }
}

function describe(name: string, condition: { ok: boolean; reason: string; message: string }): string {
  return `${name}=${condition.ok} reason:${condition.reason} message:${condition.message}`;
}
