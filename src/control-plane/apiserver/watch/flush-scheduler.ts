import type { Clock, Timer } from '../../../base/clock.ts';

/** A connection with buffered data. */
export interface Flushable {
  flush(): void;
}

/**
 * Flushes many connections in rounds. When idle, data is sent as soon as the current code has run. A round that took x
 * milliseconds is followed by a pause of the same length, in which events accumulate. So sending uses at most half of
 * the time, writes become larger under load, and no watcher waits longer than a round and a pause. Invariants: 1. a
 * requested flush happens in the next round; 2. one round at a time, never inside the call that asks;
 * 3. one timer at most.
 */
export class FlushScheduler {
  readonly #clock: Clock;
  #waiting = new Set<Flushable>();
  #pause: Timer | undefined;
  #isQueued = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  request(target: Flushable): void {
    this.#waiting.add(target);
    if (this.#pause !== undefined || this.#isQueued) return;
    this.#isQueued = true;
    queueMicrotask(() => this.#round());
  }

  forget(target: Flushable): void {
    this.#waiting.delete(target);
  }

  #round(): void {
    this.#isQueued = false;
    this.#pause = undefined;
    if (this.#waiting.size === 0) return;
    const round = this.#waiting;
    this.#waiting = new Set();
    const beganMs = this.#clock.monotonicMs();
    for (const target of round) target.flush();
    const tookMs = this.#clock.monotonicMs() - beganMs;
    // Pauses that are shorter than the timer resolution are skipped.
    if (tookMs >= 1) this.#pause = this.#clock.setTimer(tookMs, () => this.#round());
    else if (this.#waiting.size > 0) this.#queueAgain();
  }

  #queueAgain(): void {
    this.#pause = this.#clock.setTimer(0, () => this.#round());
  }
}
