/** Statistics of many samples. Pure. */

export interface Spread {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** Sorts in place. Without samples all values are 0. */
export function spreadOf(samples: Float64Array | number[]): Spread {
  if (Array.isArray(samples)) samples.sort((a, b) => a - b);
  else samples.sort();
  const at = (share: number): number => samples[Math.min(samples.length - 1, Math.floor(samples.length * share))] ?? 0;
  return { p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
}

export interface WatchDelays extends Spread {
  /** The number of events that some watcher has not received. */
  readonly lost: number;
  /** The number of events that some watcher has received more than once. */
  readonly twice: number;
  readonly seen: number;
}

/**
 * `seenAtMs[watcher][n]` is when the watcher received the event of write `n` first (0: not yet); `answeredAtMs[n]` is
 * when that write was answered. For a watcher that was notified before the writer, the delay is 0.
 */
export function judgeDelays(
  seenAtMs: readonly Float64Array[],
  answeredAtMs: readonly number[],
  twice: number,
): WatchDelays {
  const delays = new Float64Array(seenAtMs.length * answeredAtMs.length);
  let seen = 0;
  for (const ofWatcher of seenAtMs) {
    for (const [write, answeredMs] of answeredAtMs.entries()) {
      const atMs = ofWatcher[write] ?? 0;
      if (atMs > 0) delays[seen++] = Math.max(0, atMs - answeredMs);
    }
  }
  return { ...spreadOf(delays.subarray(0, seen)), lost: delays.length - seen, twice, seen };
}
