/** A map that forgets what was not used for the longest time once it holds more than `limit` (upstream: utils/lru). */
export class BoundedMap<K, V> {
  readonly #entries = new Map<K, V>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  /** Returns the key that had to go, if any. */
  set(key: K, value: V): K | undefined {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#limit) return undefined;
    const oldest = this.#entries.keys().next().value as K;
    this.#entries.delete(oldest);
    return oldest;
  }

  delete(key: K): void {
    this.#entries.delete(key);
  }

  /** The longest unused first. */
  entries(): IterableIterator<[K, V]> {
    return this.#entries.entries();
  }

  get size(): number {
    return this.#entries.size;
  }
}
