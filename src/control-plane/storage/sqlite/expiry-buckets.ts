import type { Clock, Timer } from '../../../base/clock.ts';

/** The number of writes that are deleted with one commit. */
const BATCH_WRITES = 256;
/** The minimum time between two commits of expired keys. */
const PAUSE_MS = 1000;

/**
 * Computes when a key expires. The time is rounded up, so that keys of one minute share a commit: by a twentieth of
 * their lifetime, at most a minute, as upstream's leases.
 */
export function expiryOf(nowSeconds: number, ttlSeconds: number): number {
  const stepSeconds = Math.min(Math.max(Math.floor(ttlSeconds / 20), 1), 60);
  return Math.ceil((nowSeconds + ttlSeconds) / stepSeconds) * stepSeconds;
}

export interface ExpiryBucketsOptions {
  readonly clock: Clock;
  /**
   * Deletes those of these writes that are still the newest of their keys. Returns false if that failed; they are
   * passed again then.
   */
  readonly expire: (revisions: readonly number[]) => boolean;
}

/**
 * The writes by the time when they expire, in memory only. On disk the time is in the row of the key, which is written
 * anyway, and an index would cost one more page per event. Writes that were replaced stay in their bucket until its
 * time; `expire` ignores them.
 */
export class ExpiryBuckets {
  readonly #clock: Clock;
  readonly #expire: (revisions: readonly number[]) => boolean;
  readonly #buckets = new Map<number, number[]>();
  #armed: { readonly atSeconds: number; readonly timer: Timer } | undefined;
  #lastMs = -Infinity;

  constructor(options: ExpiryBucketsOptions) {
    this.#clock = options.clock;
    this.#expire = options.expire;
  }

  add(atSeconds: number, revision: number): void {
    const bucket = this.#buckets.get(atSeconds);
    if (bucket === undefined) this.#buckets.set(atSeconds, [revision]);
    else bucket.push(revision);
    this.#arm(atSeconds);
  }

  close(): void {
    this.#armed?.timer.cancel();
    this.#armed = undefined;
    this.#buckets.clear();
  }

  #arm(atSeconds: number): void {
    if (this.#armed !== undefined && this.#armed.atSeconds <= atSeconds) return;
    this.#armed?.timer.cancel();
    const pauseLeftMs = this.#lastMs + PAUSE_MS - this.#clock.monotonicMs();
    const delayMs = Math.max(atSeconds * 1000 - this.#clock.nowMs(), pauseLeftMs, 0);
    this.#armed = { atSeconds, timer: this.#clock.setTimer(delayMs, () => this.#fire()) };
  }

  #fire(): void {
    this.#armed = undefined;
    this.#lastMs = this.#clock.monotonicMs();
    let next = Infinity;
    let left = BATCH_WRITES;
    for (const [atSeconds, revisions] of [...this.#buckets].sort(([a], [b]) => a - b)) {
      if (atSeconds * 1000 > this.#clock.nowMs() || left === 0 || !this.#take(atSeconds, revisions.slice(0, left))) {
        next = atSeconds;
        break;
      }
      left = Math.max(0, left - revisions.length);
      if (this.#buckets.has(atSeconds)) {
        next = atSeconds;
        break;
      }
    }
    if (next !== Infinity) this.#arm(next);
  }

  /** Returns true if they were deleted. The other writes of the bucket stay. */
  #take(atSeconds: number, revisions: readonly number[]): boolean {
    if (!this.#expire(revisions)) return false;
    const rest = this.#buckets.get(atSeconds)?.slice(revisions.length) ?? [];
    if (rest.length === 0) this.#buckets.delete(atSeconds);
    else this.#buckets.set(atSeconds, rest);
    return true;
  }
}
