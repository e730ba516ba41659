import type { Clock, Timer } from '../../../base/clock.ts';
import { DueHeap } from '../../../base/due-heap.ts';

/**
 * At most this many are started in one turn of the event loop; the rest in the next, so that a burst does not make the
 * agent itself late.
 */
const STARTS_PER_TURN = 32;

export interface Appointment {
  cancel(): void;
}

/**
 * All probes of the node on one timer: a heap by time, so that a thousand probes cost a thousand heap operations a
 * second and no more timers than one.
 */
export class ProbeSchedule {
  readonly #clock: Clock;
  readonly #heap = new DueHeap();
  #timer: Timer | undefined;
  #armedForMs = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `fire` once, at the monotonic time `dueMs` or as soon after it as possible. */
  at(dueMs: number, fire: () => void): Appointment {
    const entry = this.#heap.add(dueMs, fire);
    if (dueMs < this.#armedForMs) this.#arm();
    return {
      cancel: () => {
        entry.fire = undefined;
      },
    };
  }

  /** Cancels everything. */
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
