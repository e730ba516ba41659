/**
 * How long the tasks of one share go on in a turn of the event loop: long enough for the 32 writes that a controller has
 * under way at a time to be ready for one commit.
 */
const SHARE_MS = 15;

/**
 * What this thread has worked, in milliseconds of processor time: on a busy machine time passes in which it does
 * nothing, and shares by the clock would leave it little of each turn.
 */
export function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/**
 * A bounded share of each turn of the event loop, for many tasks that are under way at the same time. A task rests
 * between its stages. Invariants:
 * 1. Tasks go on in the order in which they began to rest.
 * 2. When the share of a turn is used up, the next task goes on in a later turn, after whatever came in meanwhile.
 * 3. While any task rests, one goes on in each turn at the least.
 */
export class TurnShare {
  readonly #workedMs: () => number;
  readonly #resting: (() => void)[] = [];
  /** Since when the share of this turn is in use. */
  #sinceMs: number | undefined;
  #isReleasing = false;

  /** `workedMs` only grows: `processorMs`, or a clock. */
  constructor(workedMs: () => number) {
    this.#workedMs = workedMs;
  }

  /** To be awaited between stages. Undefined while there is no need to wait. */
  rest(): Promise<void> | undefined {
    return this.#isUsedUp() || this.#resting.length > 0 ? this.#wait() : undefined;
  }

  /** Waits until what has been set off before has run, and longer when the share is used up. */
  pause(): Promise<void> {
    this.#isUsedUp();
    const waiting = this.#wait();
    this.#releaseLater();
    return waiting;
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => this.#resting.push(resolve));
  }

  #isUsedUp(): boolean {
    const nowMs = this.#workedMs();
    if (this.#sinceMs === undefined) this.#begin(nowMs);
    return nowMs - (this.#sinceMs ?? nowMs) >= SHARE_MS;
  }

  #begin(nowMs: number): void {
    this.#sinceMs = nowMs;
    setImmediate(() => this.#nextTurn());
  }

  #nextTurn(): void {
    this.#sinceMs = undefined;
    if (this.#resting.length === 0) return;
    this.#begin(this.#workedMs());
    this.#release();
  }

  #release(): void {
    if (this.#resting.length === 0 || this.#isUsedUp()) return;
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
