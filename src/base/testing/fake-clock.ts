import type { Clock, Timer } from '../clock.ts';
import { DueHeap } from '../due-heap.ts';

/**
 * A clock with virtual time, which changes only when a test advances it. Timers fire in order of their time, and in
 * order of creation at equal times. Between timers all promise work is finished, so computations take no time. The wall
 * clock can be changed separately (`stepWall`), as a real clock may jump.
 */
export class FakeClock implements Clock {
  #monotonicMs = 0;
  #wallOffsetMs: number;
  readonly #heap = new DueHeap();

  constructor(startWallMs = Date.UTC(2026, 0, 1)) {
    this.#wallOffsetMs = startWallMs;
  }

  nowMs(): number {
    return this.#wallOffsetMs + this.#monotonicMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  setTimer(delayMs: number, fire: () => void): Timer {
    const entry = this.#heap.add(this.#monotonicMs + Math.max(0, delayMs), fire);
    return {
      cancel: () => {
        entry.fire = undefined;
      },
    };
  }

  /** Moves only the wall clock, by a positive or negative amount. */
  stepWall(byMs: number): void {
    this.#wallOffsetMs += byMs;
  }

  /** Finishes all promise work that does not wait for time. */
  async settle(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }

  /** Advances by `byMs`. Fires all timers that become due, and finishes promise work after each. */
  async advance(byMs: number): Promise<void> {
    const endMs = this.#monotonicMs + byMs;
    await this.settle();
    for (let next = this.#heap.peek(); next !== undefined && next.dueMs <= endMs; next = this.#heap.peek()) {
      this.#monotonicMs = Math.max(this.#monotonicMs, next.dueMs);
      this.#fireDue();
      await this.settle();
    }
    this.#monotonicMs = endMs;
  }

  /** Advances until `done()` returns true, but at most `limitMs`; returns whether it did. */
  async advanceUntil(done: () => boolean, limitMs: number): Promise<boolean> {
    const endMs = this.#monotonicMs + limitMs;
    await this.settle();
    while (!done()) {
      const next = this.#heap.peek();
      if (next === undefined || next.dueMs > endMs) {
        this.#monotonicMs = endMs;
        return done();
      }
      this.#monotonicMs = Math.max(this.#monotonicMs, next.dueMs);
      this.#fireDue();
      await this.settle();
    }
    return true;
  }

  /** The number of pending timers, to check for leaks in tests. */
  get armedTimers(): number {
    return this.#heap.size;
  }

  #fireDue(): void {
    for (
      let fire = this.#heap.takeDue(this.#monotonicMs);
      fire !== undefined;
      fire = this.#heap.takeDue(this.#monotonicMs)
    )
      fire();
  }
}
