/** A map that drops the least recently used entry when it has more than `limit` entries (upstream: utils/lru). */
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

  /** Returns the dropped key, if any. */
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

  /** The least recently used first. */
  entries(): IterableIterator<[K, V]> {
    return this.#entries.entries();
  }

  get size(): number {
    return this.#entries.size;
  }
}
