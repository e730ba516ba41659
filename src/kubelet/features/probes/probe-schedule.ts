import type { Clock, Timer } from '../../../base/clock.ts';
import { DueHeap } from '../../../base/due-heap.ts';

/**
 * The maximum number of probes that start in one turn of the event loop. Others start in the next one, so that a burst
 * does not make the agent late.
 */
const STARTS_PER_TURN = 32;

export interface Appointment {
  cancel(): void;
}

/**
 * Schedules all probes of the node with one timer and a heap by time, so that a thousand probes a second cost a
 * thousand heap operations.
 */
export class ProbeSchedule {
  readonly #clock: Clock;
  readonly #heap = new DueHeap();
  #timer: Timer | undefined;
  #armedForMs = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `fire` once, at the monotonic time `dueMs` or as soon as possible after it. */
  at(dueMs: number, fire: () => void): Appointment {
    const entry = this.#heap.add(dueMs, fire);
    if (dueMs < this.#armedForMs) this.#arm();
    return {
      cancel: () => {
        entry.fire = undefined;
      },
    };
  }

  /** Cancels all calls. */
  clear(): void {
    this.#heap.clear();
    this.#disarm();
  }

  #arm(): void {
    this.#disarm();
    const next = this.#heap.peek();
    if (next === undefined) return;
    this.#armedForMs = next.dueMs;
    this.#timer = this.#clock.setTimer(next.dueMs - this.#clock.monotonicMs(), () => this.#fireDue());
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#armedForMs = Number.POSITIVE_INFINITY;
  }

  #fireDue(): void {
    const nowMs = this.#clock.monotonicMs();
    for (let started = 0; started < STARTS_PER_TURN; started++) {
      const fire = this.#heap.takeDue(nowMs);
      if (fire === undefined) break;
      fire();
    }
    this.#arm();
  }
}
