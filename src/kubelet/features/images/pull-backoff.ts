import type { BackoffCurve, BackoffEntry } from '../../../base/backoff.ts';
import { nextBackoff } from '../../../base/backoff.ts';
import type { Clock } from '../../../base/clock.ts';

/** The back-off of pulls (upstream: kubelet.go imageBackOffPeriod and MaxImageBackOff). */
const pullBackoff: BackoffCurve = { initialMs: 10_000, maxMs: 300_000, factor: 2 };
const RESET_AFTER_MS = 2 * pullBackoff.maxMs;

/**
 * Tracks the back-off of failed pulls, per pod and image. An entry that was not used for twice the longest wait is
 * dropped.
 */
export class PullBackoff {
  readonly #clock: Clock;
  readonly #entries = new Map<string, BackoffEntry & { lastError: string }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the remaining time and the last error, or undefined if the pull need not wait. */
  waiting(podUid: string, image: string): { leftMs: number; lastError: string } | undefined {
    const entry = this.#entries.get(keyOf(podUid, image));
    if (entry === undefined) return undefined;
    const leftMs = entry.lastUpdateMs + entry.delayMs - this.#clock.monotonicMs();
    return leftMs > 0 ? { leftMs, lastError: entry.lastError } : undefined;
  }

  /** Records a failure. Returns the next wait in milliseconds. */
  failed(podUid: string, image: string, error: string): number {
    const nowMs = this.#clock.monotonicMs();
    for (const [key, entry] of this.#entries)
      if (nowMs - entry.lastUpdateMs > RESET_AFTER_MS) this.#entries.delete(key);
    const key = keyOf(podUid, image);
    const next = nextBackoff(pullBackoff, this.#entries.get(key), nowMs, RESET_AFTER_MS);
    this.#entries.set(key, { ...next, lastError: error });
    return next.delayMs;
  }

  succeeded(podUid: string, image: string): void {
    this.#entries.delete(keyOf(podUid, image));
  }

  /** Drops the back-offs of a pod that was removed or whose pull conditions changed. */
  forgetPod(podUid: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(`${podUid}_`)) this.#entries.delete(key);
  }

  get size(): number {
    return this.#entries.size;
  }
}

function keyOf(podUid: string, image: string): string {
  return `${podUid}_${image}`;
}
