import type { Clock } from '../../base/clock.ts';

/** When this many items wait, the source is not read. */
const MOST_WAITING = 1000;

/** Whether an item need not be passed on immediately. */
export interface Patience<T> {
  readonly clock: Clock;
  /** How long items wait for further ones. */
  readonly limitMs: number;
  readonly mayWait: (item: T) => boolean;
}

/**
 * Yields the items of a source in batches. A batch has the items that arrived while the previous batch was processed,
 * and those that arrived while all of its items could wait. Ends as the source does, after all of its items.
 */
export async function* inBatches<T>(source: AsyncIterable<T>, patience?: Patience<T>): AsyncIterable<readonly T[]> {
  let waiting: T[] = [];
  let wake = Promise.withResolvers<void>();
  const urgent = new Urgency(patience);
  let room = Promise.withResolvers<void>();
  let end: { readonly error?: unknown } | undefined;
  const iterator = source[Symbol.asyncIterator]();
  const read = async (): Promise<void> => {
    try {
      for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
        waiting.push(next.value);
        wake.resolve();
        if (waiting.length >= MOST_WAITING) urgent.raise();
        else urgent.judge(next.value);
        if (waiting.length >= MOST_WAITING) await room.promise;
      }
      end = {};
    } catch (error) {
      end = { error };
    }
    wake.resolve();
    urgent.raise();
  };
  void read();
  try {
    for (;;) {
      await wake.promise;
      await urgent.wait();
      wake = Promise.withResolvers<void>();
      const batch = waiting;
      waiting = [];
      room.resolve();
      room = Promise.withResolvers<void>();
      if (batch.length > 0) yield batch;
      if (end === undefined || waiting.length > 0) continue;
      if ('error' in end) throw end.error;
      return;
    }
  } finally {
    urgent.raise();
    room.resolve();
    void iterator.return?.();
  }
}

/** Whether all waiting items may wait longer. */
class Urgency<T> {
  readonly #patience: Patience<T> | undefined;
  #raised = Promise.withResolvers<void>();
  #isRaised = false;

  constructor(patience: Patience<T> | undefined) {
    this.#patience = patience;
  }

  judge(item: T): void {
    if (this.#patience?.mayWait(item) !== true) this.raise();
  }

  raise(): void {
    this.#isRaised = true;
    this.#raised.resolve();
  }

  /** Resolves when an item cannot wait or the time is over; then the next wait starts. */
  async wait(): Promise<void> {
    const { clock, limitMs } = this.#patience ?? {};
    if (!this.#isRaised && clock !== undefined && limitMs !== undefined) {
      const timer = clock.setTimer(limitMs, () => this.#raised.resolve());
      await this.#raised.promise;
      timer.cancel();
    }
    this.#isRaised = false;
    this.#raised = Promise.withResolvers();
  }
}
