/** The measured result of a number of concurrent starts. */
export interface PaceWindow {
  /** How many ran at once. */
  readonly concurrency: number;
  /** The middle latency of one start, in milliseconds. */
  readonly medianMs: number;
}

export interface SlotBounds {
  readonly min: number;
  readonly max: number;
}

/** More than this share above proportional counts as superlinear; below, as gain. Small differences are noise. */
const TOLERANCE = 0.1;

/** Two windows at the same width that differ by this factor were taken under different load. */
const LOAD_SHIFT = 1.5;

/**
 * How many starts may run concurrently next. If latency grew faster than concurrency, the machine does less work per
 * second than before: go back. If it grew slower, throughput increased: go on. If just as fast, waiting in the queue or
 * in the runtime is the same for the last pod and better in the queue for all others: stay.
 */
export function computeSlotLimit(current: PaceWindow, previous: PaceWindow | undefined, bounds: SlotBounds): number {
  const clamp = (limit: number): number => Math.min(bounds.max, Math.max(bounds.min, limit));
  const { concurrency } = current;
  // A step wide enough to tell gain from noise.
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
