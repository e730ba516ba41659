/** Runs work one after the other for each key; different keys run side by side. A key without work holds no memory. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Settles like `work`. A failure does not stop later work. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const mine = before.then(work, work);
    this.#last.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.#last.get(key) === mine) this.#last.delete(key);
    }
  }
}
