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
/**
 * So many consecutive failures are not transient. Without a warning, a missing permission would go unnoticed.
 */
const PERSISTENT = 10;

export interface RateLimitingQueueOptions {
  readonly name: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** How many keys are worked on at a time. */
  readonly workers: number;
  /**
   * One idempotent pass. Answers in how many milliseconds to check again, if that is known. A throw tries again, later
   * each time.
   */
  readonly sync: (key: string) => Promise<number | undefined | void>;
  /**
   * How long a key rests after a pass, in milliseconds: what is added meanwhile is folded into one pass at the end of it.
   * Asked after each pass. Absent: no rest.
   */
  readonly restMs?: (key: string) => number;
}

/**
 * Keys that need looking at (upstream: client-go util/workqueue).
 * 1. A key is worked on by one worker at a time; what is added meanwhile leads to exactly one more pass after it.
 * 2. Keys are taken in the order of their coming, each once however often it was added.
 * 3. A key that waits for its time keeps the earliest; adding it now does not wait.
 * 4. A key that rests is not worked on: passes that cost much do not follow each other closely.
 * 5. Constructing starts nothing. After `stop` nothing is begun.
 */
export class RateLimitingQueue {
  readonly #options: RateLimitingQueueOptions;
  readonly #ready = new Set<string>();
  readonly #running = new Set<string>();
  /** Added while they were being worked on. */
  readonly #again = new Set<string>();
  readonly #waiting = new Map<string, DueEntry>();
  readonly #heap = new DueHeap();
  readonly #failures = new Map<string, number>();
  /** Until when keys rest, on the monotonic clock. */
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

  /** After a failure: later each time, until `forget`. */
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

  /** Keys that are ready or being worked on: the depth of the queue. */
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
    // What is already being handed round (events of one change) becomes part of this pass.
    await Promise.resolve();
    try {
      const afterMs = await this.#options.sync(key);
      this.forget(key);
      // At least one turn later: a pass that always wants another one at once must not keep everything else from
      // running.
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

  /** Having been overtaken is daily business; what is not a refusal of the API is a fault of ours. */
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
