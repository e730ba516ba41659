import type { Clock } from '../../../base/clock.ts';
import type { NodeLoad, ReadNodeLoad } from '../../ports/node-load.ts';

/** The maximum age of a reading that is used as the start of a new measurement. */
const FRESH_MS = 1_000;
/**
 * The share of the time in which tasks waited for a processor that makes a node overloaded, if its processors were
 * almost never idle.
 */
const STALLED_SHARE = 0.8;
const IDLE_SHARE = 0.05;
/** The number of runnable tasks per processor that makes a node overloaded, if the kernel does not count stalls. */
const QUEUE_PER_CORE = 3;
/** The minimum time of a measurement. Counters are updated every 10 ms, so a shorter time gives no result. */
const SHORTEST_MS = 200;

export interface LoadMark {
  readonly atMs: number;
  readonly load: NodeLoad | undefined;
}

/**
 * Whether the node had no spare processor during a measurement. Both values are needed: tasks also wait if a pod uses
 * up its own limit, and busy processors alone are normal.
 */
export function isOverloaded(before: LoadMark, after: LoadMark): boolean {
  const spanMs = after.atMs - before.atMs;
  if (before.load === undefined || after.load === undefined || spanMs < SHORTEST_MS) return false;
  const capacityMs = after.load.capacityMs - before.load.capacityMs;
  if (capacityMs <= 0 || (after.load.idleMs - before.load.idleMs) / capacityMs > IDLE_SHARE) return false;
  if (before.load.stalledMs === undefined || after.load.stalledMs === undefined)
    return after.load.runnable >= QUEUE_PER_CORE * after.load.cores;
  return (after.load.stalledMs - before.load.stalledMs) / spanMs >= STALLED_SHARE;
}

/**
 * Reads the node's load at most once a second while probes begin, so that the load before a missed deadline is known.
 */
export class OverloadWatch {
  readonly #clock: Clock;
  readonly #read: ReadNodeLoad;
  #latest: LoadMark | undefined;

  constructor(clock: Clock, read: ReadNodeLoad) {
    this.#clock = clock;
    this.#read = read;
  }

  /** Returns the load at the beginning of a measurement. */
  mark(atMs = this.#clock.monotonicMs()): LoadMark {
    if (this.#latest === undefined || atMs - this.#latest.atMs >= FRESH_MS) this.#latest = { atMs, load: this.#read() };
    return this.#latest;
  }

  wasOverloadedSince(mark: LoadMark): boolean {
    return isOverloaded(mark, { atMs: this.#clock.monotonicMs(), load: this.#read() });
  }
}
