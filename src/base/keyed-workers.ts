/**
 * Runs work per key.
 * 1. At most one run per key at any time; different keys run side by side.
 * 2. Items arriving during a run are folded into one pending item; the newest fold is what runs next.
 * 3. A run that throws is reported and does not stop the lane.
 * 4. A lane without work holds no memory.
 */
export class KeyedWorkers<K, T> {
  readonly #lanes = new Map<K, { pending: T | undefined; hasPending: boolean }>();
  readonly #run: (key: K, item: T) => Promise<void>;
  readonly #fold: (pending: T, next: T) => T;
  readonly #onError: (key: K, error: unknown) => void;
  #idleWaiters: (() => void)[] = [];

  constructor(options: {
    run: (key: K, item: T) => Promise<void>;
    fold: (pending: T, next: T) => T;
    onError: (key: K, error: unknown) => void;
  }) {
    this.#run = options.run;
    this.#fold = options.fold;
    this.#onError = options.onError;
  }

  /** Hands `item` to the lane of `key`: runs now if the lane is free, else folds into what is pending. */
  submit(key: K, item: T): void {
    const lane = this.#lanes.get(key);
    if (lane === undefined) {
      this.#lanes.set(key, { pending: undefined, hasPending: false });
      void this.#drain(key, item);
      return;
    }
    lane.pending = lane.hasPending ? this.#fold(lane.pending as T, item) : item;
    lane.hasPending = true;
  }

  isBusy(key: K): boolean {
    return this.#lanes.has(key);
  }

  get busyCount(): number {
    return this.#lanes.size;
  }

  /** Resolves when no lane has work. */
  async whenIdle(): Promise<void> {
    while (this.#lanes.size > 0) {
      await new Promise<void>((resolve) => this.#idleWaiters.push(resolve));
    }
  }

  async #attempt(key: K, item: T): Promise<void> {
    try {
      await this.#run(key, item);
    } catch (error) {
      this.#onError(key, error);
    }
  }

  async #drain(key: K, first: T): Promise<void> {
    let item = first;
    for (;;) {
      // A report that throws must not stop the lane either, and there is nobody left to tell.
      await this.#attempt(key, item).catch(() => undefined);
      const lane = this.#lanes.get(key);
      if (lane === undefined || !lane.hasPending) break;
      item = lane.pending as T;
      lane.pending = undefined;
      lane.hasPending = false;
    }
    this.#lanes.delete(key);
    if (this.#lanes.size === 0) {
      const waiters = this.#idleWaiters;
      this.#idleWaiters = [];
      for (const resolve of waiters) resolve();
    }
  }
}
