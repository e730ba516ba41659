/** Computes how long to wait after the n-th failure in a row; the caller waits. */
export interface BackoffCurve {
  readonly initialMs: number;
  readonly maxMs: number;
  readonly factor: number;
}

/** The delay before attempt `failures + 1`, where `failures` counts from 1. */
export function backoffDelayMs(curve: BackoffCurve, failures: number): number {
  if (failures <= 0) return 0;
  return Math.min(curve.maxMs, curve.initialMs * curve.factor ** (failures - 1));
}

/**
 * One key's back-off: how long the current delay is and when it was last stretched. Wall or monotonic, the caller
 * chooses once.
 */
export interface BackoffEntry {
  readonly delayMs: number;
  readonly lastUpdateMs: number;
}

/**
 * The entry after one more failure at `nowMs`. An entry left alone for `resetAfterMs` starts again from the beginning
 * (upstream: client-go flowcontrol.Backoff, which resets after twice the maximum).
 */
export function nextBackoff(
  curve: BackoffCurve,
  entry: BackoffEntry | undefined,
  nowMs: number,
  resetAfterMs: number,
): BackoffEntry {
  if (entry === undefined || nowMs - entry.lastUpdateMs > resetAfterMs)
    return { delayMs: curve.initialMs, lastUpdateMs: nowMs };
  return { delayMs: Math.min(curve.maxMs, entry.delayMs * curve.factor), lastUpdateMs: nowMs };
}
