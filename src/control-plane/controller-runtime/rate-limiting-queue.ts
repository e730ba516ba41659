import type { Clock, Timer } from '../../base/clock.ts';
import { DueHeap } from '../../base/due-heap.ts';
import type { DueEntry } from '../../base/due-heap.ts';
import { errorMessage } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { isApiError } from '../../api/status/api-status-error.ts';

/**
 * client-go's DefaultTypedControllerRateLimiter: per key 5 ms doubling to 1000 s, and over all keys ten a second after
 * a burst of a hundred.
 */
const FIRST_DELAY_MS = 5;
const MAX_DELAY_MS = 1_000_000;
const REFILL_MS = 100;
const BURST = 100;
/** After this many consecutive failures a warning is logged; otherwise a missing permission would go unnoticed. */
const PERSISTENT = 10;

export interface RateLimitingQueueOptions {
  readonly name: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** The number of keys that are processed concurrently. */
  readonly workers: number;
  /**
   * One idempotent pass. Resolves to the delay in milliseconds before the next pass, if known. If it throws, it is
   * retried with increasing delays.
   */
  readonly sync: (key: string) => Promise<number | undefined | void>;
  /**
   * The pause of a key after a pass, in milliseconds; additions meanwhile are merged into one pass at its end. Called
   * after each pass. Absent: no pause.
   */
  readonly restMs?: (key: string) => number;
}

/**
 * A queue of keys to process (upstream: client-go util/workqueue). 1. One worker at a time processes a key; additions
 * meanwhile cause exactly one more pass. 2. Keys are processed in the order of arrival, once each. 3. A delayed key
 * keeps its earliest time; adding it without a delay takes effect immediately. 4. A key is not processed during its
 * pause, so that expensive passes do not follow each other closely. 5. The constructor starts nothing. After `stop`
 * nothing is started.
 */
export class RateLimitingQueue {
  readonly #options: RateLimitingQueueOptions;
  readonly #ready = new Set<string>();
  readonly #running = new Set<string>();
  /** Keys that were added while they were being processed. */
  readonly #again = new Set<string>();
  readonly #waiting = new Map<string, DueEntry>();
  readonly #heap = new DueHeap();
  readonly #failures = new Map<string, number>();
  /** The end of each key's pause, on the monotonic clock. */
  readonly #resting = new Map<string, number>();
  #timer: { readonly timer: Timer; readonly dueMs: number } | undefined;
  #state: 'idle' | 'started' | 'stopped' = 'idle';
  #tokens = BURST;
  #tokensAtMs: number;
  #whenIdle: (() => void)[] = [];

  constructor(options: RateLimitingQueueOptions) {
    this.#options = options;
    this.#tokensAtMs = options.clock.monotonicMs();
  }

  start(): void {
    if (this.#state !== 'idle') return;
    this.#state = 'started';
    this.#dispatch();
  }

  /** Resolves when no pass is running. */
  async stop(): Promise<void> {
    this.#state = 'stopped';
    this.#timer?.timer.cancel();
    this.#heap.clear();
    this.#waiting.clear();
    this.#resting.clear();
    this.#ready.clear();
    if (this.#running.size > 0) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }

  add(key: string): void {
    if (this.#state === 'stopped') return;
    const leftMs = this.#running.has(key) ? 0 : this.#restLeftMs(key);
    if (leftMs > 0) return this.addAfter(key, leftMs);
    if (this.#running.has(key)) this.#again.add(key);
    else this.#ready.add(key);
    this.#dispatch();
  }

  addAfter(key: string, delayMs: number): void {
    if (this.#state === 'stopped') return;
    if (delayMs <= 0) return this.add(key);
    const dueMs = this.#options.clock.monotonicMs() + delayMs;
    const waiting = this.#waiting.get(key);
    if (waiting !== undefined) {
      if (waiting.dueMs <= dueMs) return;
      waiting.fire = undefined;
    }
    const fire = (): void => {
      this.#waiting.delete(key);
      this.add(key);
    };
    this.#waiting.set(key, this.#heap.add(dueMs, fire));
    this.#arm();
  }

  #restLeftMs(key: string): number {
    const untilMs = this.#resting.get(key);
    return untilMs === undefined ? 0 : untilMs - this.#options.clock.monotonicMs();
  }

  #rest(key: string): void {
    const restMs = this.#options.restMs?.(key) ?? 0;
    if (restMs > 0) this.#resting.set(key, this.#options.clock.monotonicMs() + restMs);
    else this.#resting.delete(key);
  }

  /** Adds a key after a failure, with increasing delays until `forget`. */
  addRateLimited(key: string): void {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    this.addAfter(key, Math.max(Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** failures), this.#takeTokenMs()));
  }

  forget(key: string): void {
    this.#failures.delete(key);
  }

  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** The depth of the queue: keys that are ready or in progress. */
  get depth(): number {
    return this.#ready.size + this.#running.size;
  }

  /** How long until the shared bucket has a token for this one. */
  #takeTokenMs(): number {
    const nowMs = this.#options.clock.monotonicMs();
    this.#tokens = Math.min(BURST, this.#tokens + (nowMs - this.#tokensAtMs) / REFILL_MS) - 1;
    this.#tokensAtMs = nowMs;
    return this.#tokens >= 0 ? 0 : -this.#tokens * REFILL_MS;
  }

  #arm(): void {
    const next = this.#heap.peek();
    if (next === undefined || (this.#timer !== undefined && this.#timer.dueMs <= next.dueMs)) return;
    this.#timer?.timer.cancel();
    const fire = (): void => {
      this.#timer = undefined;
      const nowMs = this.#options.clock.monotonicMs();
      for (let due = this.#heap.takeDue(nowMs); due !== undefined; due = this.#heap.takeDue(nowMs)) due();
      this.#arm();
    };
    this.#timer = {
      timer: this.#options.clock.setTimer(next.dueMs - this.#options.clock.monotonicMs(), fire),
      dueMs: next.dueMs,
    };
  }

  #dispatch(): void {
    if (this.#state !== 'started') return;
    for (const key of this.#ready) {
      if (this.#running.size >= this.#options.workers) return;
      this.#ready.delete(key);
      this.#running.add(key);
      void this.#run(key);
    }
  }

  async #run(key: string): Promise<void> {
    // Events of the same change that are still being delivered become part of this pass.
    await Promise.resolve();
    try {
      const afterMs = await this.#options.sync(key);
      this.forget(key);
      // At least one turn later, so that a pass that always requests another one does not block everything else.
      if (afterMs !== undefined) this.addAfter(key, Math.max(1, afterMs));
    } catch (error) {
      this.#report(key, error);
      this.addRateLimited(key);
    }
    this.#running.delete(key);
    this.#rest(key);
    if (this.#again.delete(key) && this.#state === 'started') this.add(key);
    if (this.#running.size === 0) for (const resolve of this.#whenIdle.splice(0)) resolve();
    this.#dispatch();
  }

  /** Conflicts are normal; an error that is not from the API is a bug. */
  #report(key: string, error: unknown): void {
    const { log, name } = this.#options;
    const fields = { controller: name, key, error: errorMessage(error), failures: this.failures(key) };
    if (isApiError(error, 'Conflict', 'NotFound', 'AlreadyExists'))
      log.debug(4, 'Sync was overtaken, trying again', fields);
    else if (isApiError(error) && this.failures(key) < PERSISTENT) log.debug(2, 'Sync failed, trying again', fields);
    else if (isApiError(error)) log.warn('Sync keeps failing, trying again', fields);
    else log.error('Sync failed, trying again', fields);
  }
}
