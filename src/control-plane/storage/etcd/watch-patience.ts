import { backoffDelayMs } from '../../../base/backoff.ts';
import type { Clock, Timer } from '../../../base/clock.ts';

/**
 * The interval of ticks. They are used instead of one timer, so that a busy process has read what has arrived before it
 * decides.
 */
const TICK_MS = 150;
const curve = { initialMs: 5 * TICK_MS, maxMs: 80 * TICK_MS, factor: 2 };

export interface WatchPatienceOptions {
  readonly clock: Clock;
  /** The revision that the watch has reached; undefined while no watch is open. */
  readonly position: () => number | undefined;
  /** Opens the watch on another member. */
  readonly onStalled: () => void;
}

/**
 * Detects a watch that is behind the store and receives nothing, because its member is paused or disconnected. Each
 * time that another member delivers nothing either, it waits twice as long, because on a busy machine a watch that is
 * reopened repeatedly would never receive anything.
 */
export class WatchPatience {
  readonly #options: WatchPatienceOptions;
  #expected = 0;
  /** The number of consecutive watches that received nothing. */
  #stalls = 0;
  #timer: Timer | undefined;

  constructor(options: WatchPatienceOptions) {
    this.#options = options;
  }

  /** Records that the store has this revision. */
  expect(revision: number): void {
    this.#expected = Math.max(this.#expected, revision);
    const position = this.#options.position();
    if (this.#timer === undefined && position !== undefined && position < this.#expected) this.#wait(position, 1);
  }

  close(): void {
    this.#timer?.cancel();
  }

  #wait(position: number, ticks: number): void {
    const { clock, position: reached, onStalled } = this.#options;
    this.#timer = clock.setTimer(TICK_MS, () => {
      this.#timer = undefined;
      const now = reached();
      if (now !== undefined && now > position) this.#stalls = 0;
      if (now === undefined || now >= this.#expected) return;
      if (now > position) return this.#wait(now, 1);
      if (ticks * TICK_MS < backoffDelayMs(curve, this.#stalls + 1)) return this.#wait(position, ticks + 1);
      this.#stalls += 1;
      onStalled();
    });
  }
}
