import type { Clock } from './clock.ts';

/** How long the tasks of one share go on in a turn of the event loop. */
const SHARE_MS = 5;
/** So many tasks go on in each turn however long the turn takes: the process may not have had the processor meanwhile. */
const LEAST_TASKS = 8;

/**
 * A bounded share of each turn of the event loop, for many tasks that are under way at the same time. A task rests
 * between its stages. Invariants:
 * 1. Tasks go on in the order in which they began to rest.
 * 2. When the share of a turn is used up, the next task goes on in a later turn, after whatever came in meanwhile.
 * 3. While any task rests, some go on in each turn.
 */
export class TurnShare {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #resting: (() => void)[] = [];
  /** Since when the share of this turn is in use. */
  #sinceMs: number | undefined;
  #released = 0;
  #isReleasing = false;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** To be awaited between stages. Undefined while there is no need to wait. */
  rest(): Promise<void> | undefined {
    const isUsedUp = this.#isUsedUp(0);
    return isUsedUp || this.#resting.length > 0 ? this.#wait() : undefined;
  }

  /** Waits until what has been set off before has run, and longer when the share is used up. */
  pause(): Promise<void> {
    this.#isUsedUp(0);
    const waiting = this.#wait();
    this.#releaseLater();
    return waiting;
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => this.#resting.push(resolve));
  }

  #isUsedUp(least: number): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (this.#sinceMs === undefined) this.#begin(nowMs);
    return this.#released >= least && nowMs - (this.#sinceMs ?? nowMs) >= SHARE_MS;
  }

  #begin(nowMs: number): void {
    this.#sinceMs = nowMs;
    this.#released = 0;
    setImmediate(() => this.#nextTurn());
  }

  #nextTurn(): void {
    this.#sinceMs = undefined;
    if (this.#resting.length === 0) return;
    this.#begin(this.#clock.monotonicMs());
    this.#release();
  }

  #release(): void {
    if (this.#resting.length === 0 || this.#isUsedUp(LEAST_TASKS)) return;
    this.#released++;
    this.#resting.shift()?.();
    this.#releaseLater();
  }

  /** When the task that goes on, and whatever it sets off at once, has come to rest. */
  #releaseLater(): void {
    if (this.#isReleasing) return;
    this.#isReleasing = true;
    // A tick set off by a microtask comes after all other microtasks.
    queueMicrotask(() =>
      process.nextTick(() => {
        this.#isReleasing = false;
        this.#release();
      }),
    );
  }
}
