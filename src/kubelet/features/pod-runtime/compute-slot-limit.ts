/** The measured result of a number of concurrent starts. */
export interface PaceWindow {
  /** The number of concurrent starts. */
  readonly concurrency: number;
  /** The median latency of one start, in milliseconds. */
  readonly medianMs: number;
}

export interface SlotBounds {
  readonly min: number;
  readonly max: number;
}

/** The tolerated deviation from proportional growth. Smaller differences are noise. */
const TOLERANCE = 0.1;

/** Two windows with the same concurrency whose latency differs by this factor were measured under different load. */
const LOAD_SHIFT = 1.5;

/**
 * Computes how many starts may run concurrently next. If latency grew faster than concurrency, throughput fell, so the
 * limit decreases. If it grew slower, throughput rose, so the limit increases. If both grew equally, the limit stays:
 * the last pod is up at the same time, and all others are up earlier with fewer concurrent starts.
 */
export function computeSlotLimit(current: PaceWindow, previous: PaceWindow | undefined, bounds: SlotBounds): number {
  const clamp = (limit: number): number => Math.min(bounds.max, Math.max(bounds.min, limit));
  const { concurrency } = current;
  // The step is wide enough to distinguish a gain from noise.
  const step = Math.max(1, Math.round(concurrency / 4));
  if (previous === undefined) return clamp(concurrency + step);
  const latency = current.medianMs / Math.max(previous.medianMs, 1);
  if (concurrency === previous.concurrency) {
    if (latency > LOAD_SHIFT) return clamp(concurrency - step);
    return latency < 1 / LOAD_SHIFT ? clamp(concurrency + step) : concurrency;
  }
  const proportion = concurrency / previous.concurrency;
  const wider = concurrency > previous.concurrency;
  if (latency > proportion * (1 + TOLERANCE)) return clamp(wider ? previous.concurrency : concurrency + step);
  if (latency < proportion * (1 - TOLERANCE)) return clamp(wider ? concurrency + step : concurrency - step);
  return wider ? clamp(previous.concurrency) : concurrency;
}
