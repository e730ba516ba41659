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
 * The back-off state of one key: the current delay, and when it was last increased. Times may be wall or monotonic
 * time, but always the same one.
 */
export interface BackoffEntry {
  readonly delayMs: number;
  readonly lastUpdateMs: number;
}

/**
 * The entry after one more failure at `nowMs`. An entry without failures for `resetAfterMs` starts again with the
 * initial delay (upstream: client-go flowcontrol.Backoff, which resets after twice the maximum).
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
