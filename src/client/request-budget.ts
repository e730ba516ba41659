import { ApiStatusError } from '../api/status/api-status-error.ts';
import type { Clock, Timer } from '../base/clock.ts';

/**
 * Admits a request. Resolves with the milliseconds waited; rejects if too many requests wait already, or with the
 * reason of `signal`.
 */
export interface RequestGate {
  admit(signal?: AbortSignal): Promise<number>;
}

export const openGate: RequestGate = { admit: () => Promise.resolve(0) };

export interface RequestBudgetOptions {
  readonly clock: Clock;
  /** Requests per second on average. */
  readonly qps: number;
  /** The burst after a pause, in requests; at least 1. */
  readonly burst: number;
  /** Requests that may wait; more are refused. */
  readonly waitingLimit: number;
}

interface Waiter {
  readonly sinceMs: number;
  go(waitedMs: number): void;
}

/**
 * A token bucket that several groups of requests share (upstream: client-go flowcontrol, which has no priorities). 1. A
 * token goes to the lowest waiting rank, and within it to the first request.
 * 2. No request overtakes a waiting one of the same or a lower rank.
 */
export class RequestBudget {
  readonly #options: RequestBudgetOptions;
  readonly #waiting: Set<Waiter>[] = [];
  #tokens: number;
  #countedMs: number;
  #timer: Timer | undefined;

  constructor(options: RequestBudgetOptions) {
    this.#options = options;
    this.#tokens = options.burst;
    this.#countedMs = options.clock.monotonicMs();
  }

  /** `rank` 0 goes first. */
  gate(rank: number): RequestGate {
    return { admit: (signal) => this.#admit(rank, signal) };
  }

  #admit(rank: number, signal: AbortSignal | undefined): Promise<number> {
    this.#refill();
    if (this.#tokens >= 1 && !this.#waits(rank)) {
      this.#tokens -= 1;
      return Promise.resolve(0);
    }
    const { waitingLimit, clock } = this.#options;
    if (this.#waiting.reduce((sum, each) => sum + each.size, 0) >= waitingLimit)
      return Promise.reject(
        new ApiStatusError('TooManyRequests', `${waitingLimit} requests to the API server wait already`),
      );
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        queue.delete(waiter);
        reject(signal?.reason as Error);
      };
      const waiter: Waiter = {
        sinceMs: clock.monotonicMs(),
        go: (waitedMs) => {
          signal?.removeEventListener('abort', abort);
          resolve(waitedMs);
        },
      };
      const queue = (this.#waiting[rank] ??= new Set());
      if (signal?.aborted === true) return reject(signal.reason as Error);
      queue.add(waiter);
      signal?.addEventListener('abort', abort, { once: true });
      this.#arm();
    });
  }

  #waits(rank: number): boolean {
    return this.#waiting.some((queue, other) => other <= rank && queue.size > 0);
  }

  #refill(): void {
    const { clock, qps, burst } = this.#options;
    const nowMs = clock.monotonicMs();
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#countedMs) * qps) / 1000);
    this.#countedMs = nowMs;
  }

  #arm(): void {
    if (this.#timer !== undefined) return;
    const { clock, qps } = this.#options;
    this.#timer = clock.setTimer(Math.max(1, Math.ceil(((1 - this.#tokens) * 1000) / qps)), () => this.#serve());
  }

  #serve(): void {
    this.#timer = undefined;
    this.#refill();
    const nowMs = this.#options.clock.monotonicMs();
    for (const queue of this.#waiting) {
      // An unused rank leaves a hole in the array.
      for (const waiter of queue ?? []) {
        if (this.#tokens < 1) return this.#arm();
        this.#tokens -= 1;
        queue.delete(waiter);
        waiter.go(nowMs - waiter.sinceMs);
      }
    }
  }
}
