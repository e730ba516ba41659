/**
 * Runs work per key.
 * 1. At most one run per key at a time; different keys run concurrently.
 * 2. Items that arrive during a run are folded into one pending item, which runs next.
 * 3. A run that throws is reported and does not stop the worker of its key.
 * 4. A key without work holds no memory.
 */
export class KeyedWorkers<K, T> {
  readonly #workers = new Map<K, { pending: T | undefined; hasPending: boolean }>();
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

  /** Runs `item` now if no run of `key` is active; otherwise folds it into the pending item. */
  submit(key: K, item: T): void {
    const worker = this.#workers.get(key);
    if (worker === undefined) {
      this.#workers.set(key, { pending: undefined, hasPending: false });
      void this.#drain(key, item);
      return;
    }
    worker.pending = worker.hasPending ? this.#fold(worker.pending as T, item) : item;
    worker.hasPending = true;
  }

  isBusy(key: K): boolean {
    return this.#workers.has(key);
  }

  get busyCount(): number {
    return this.#workers.size;
  }

  /** Resolves when no key has work. */
  async whenIdle(): Promise<void> {
    while (this.#workers.size > 0) {
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
      // `onError` that throws must not stop the worker either; the error cannot be reported anywhere else.
      await this.#attempt(key, item).catch(() => undefined);
      const worker = this.#workers.get(key);
      if (worker === undefined || !worker.hasPending) break;
      item = worker.pending as T;
      worker.pending = undefined;
      worker.hasPending = false;
    }
    this.#workers.delete(key);
    if (this.#workers.size === 0) {
      const waiters = this.#idleWaiters;
      this.#idleWaiters = [];
      for (const resolve of waiters) resolve();
    }
  }
}
