/**
 * How long the tasks of one share run in a turn of the event loop: long enough to prepare the 32 concurrent writes of a
 * controller for one commit.
 */
const SHARE_MS = 15;

/**
 * The processor time of this thread, in milliseconds. A clock would also count the time in which a busy machine does not
 * run this thread, and would leave it little of each turn.
 */
export function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/**
 * A bounded share of each turn of the event loop for many concurrent tasks. A task rests between its stages. Invariants:
 * 1. Tasks continue in the order in which they began to rest.
 * 2. When the share of a turn is used up, the next task continues in a later turn, after other events.
 * 3. While any task rests, at least one continues in each turn.
 */
export class TurnShare {
  readonly #workedMs: () => number;
  readonly #elapsedMs: (() => number) | undefined;
  readonly #resting: (() => void)[] = [];
  /** When the share of this turn began. */
  #sinceMs: number | undefined;
  /** Before this time by `elapsedMs` the share cannot be used up. */
  #enoughUntilMs = -Infinity;
  #isReleasing = false;

  /**
   * `workedMs` only grows: `processorMs`, or a clock. `elapsedMs` is a clock that is cheaper to read: a thread does not
   * work longer than the time that passes, so `workedMs` is read only when enough time has passed.
   */
  constructor(workedMs: () => number, elapsedMs?: () => number) {
    this.#workedMs = workedMs;
    this.#elapsedMs = elapsedMs;
  }

  /** Awaited between stages. Undefined while no pause is due. */
  rest(): Promise<void> | undefined {
    return this.#isUsedUp() || this.#resting.length > 0 ? this.#wait() : undefined;
  }

  /** Waits until work that was queued before has run, and longer if the share is used up. */
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
    const elapsedMs = this.#elapsedMs?.() ?? Infinity;
    if (this.#sinceMs !== undefined && elapsedMs < this.#enoughUntilMs) return false;
    const nowMs = this.#workedMs();
    if (this.#sinceMs === undefined) this.#begin(nowMs);
    const leftMs = SHARE_MS - (nowMs - (this.#sinceMs ?? nowMs));
    this.#enoughUntilMs = this.#elapsedMs === undefined ? -Infinity : elapsedMs + leftMs;
    return leftMs <= 0;
  }

  #begin(nowMs: number): void {
    this.#sinceMs = nowMs;
    this.#enoughUntilMs = -Infinity;
    setImmediate(() => this.#nextTurn());
  }

  #nextTurn(): void {
    this.#sinceMs = undefined;
    if (this.#resting.length === 0) return;
    this.#begin(this.#workedMs());
    this.#continueOne();
  }

  #release(): void {
    if (this.#resting.length > 0 && !this.#isUsedUp()) this.#continueOne();
  }

  #continueOne(): void {
    this.#resting.shift()?.();
    this.#releaseLater();
  }

  /** Schedules the next task for when the running task, and all work that it triggers at once, has paused. */
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
