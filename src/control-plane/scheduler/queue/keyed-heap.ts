/** A binary heap whose elements are found by key. Adding, replacing and removing an element cost O(log n). */
export class KeyedHeap<T> {
  readonly #items: T[] = [];
  readonly #indexes = new Map<string, number>();
  readonly #keyOf: (item: T) => string;
  readonly #isBefore: (left: T, right: T) => boolean;

  constructor(keyOf: (item: T) => string, isBefore: (left: T, right: T) => boolean) {
    this.#keyOf = keyOf;
    this.#isBefore = isBefore;
  }

  get size(): number {
    return this.#items.length;
  }

  get(key: string): T | undefined {
    const index = this.#indexes.get(key);
    return index === undefined ? undefined : this.#items[index];
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  items(): readonly T[] {
    return this.#items;
  }

  /** Adds the element, or replaces the element with the same key. */
  put(item: T): void {
    const index = this.#indexes.get(this.#keyOf(item)) ?? this.#items.length;
    this.#set(index, item);
    this.#up(this.#down(index));
  }

  pop(): T | undefined {
    const [first] = this.#items;
    if (first !== undefined) this.delete(this.#keyOf(first));
    return first;
  }

  delete(key: string): T | undefined {
    const index = this.#indexes.get(key);
    if (index === undefined) return undefined;
    const item = this.#items[index];
    const last = this.#items.pop() as T;
    this.#indexes.delete(key);
    if (index < this.#items.length) {
      this.#set(index, last);
      this.#up(this.#down(index));
    }
    return item;
  }

  #set(index: number, item: T): void {
    this.#items[index] = item;
    this.#indexes.set(this.#keyOf(item), index);
  }

  #up(from: number): void {
    const item = this.#items[from] as T;
    let index = from;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = this.#items[parent] as T;
      if (!this.#isBefore(item, above)) break;
      this.#set(index, above);
      index = parent;
    }
    this.#set(index, item);
  }

  #down(from: number): number {
    const item = this.#items[from] as T;
    let index = from;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= this.#items.length) break;
      const right = this.#items[child + 1];
      if (right !== undefined && this.#isBefore(right, this.#items[child] as T)) child++;
      const below = this.#items[child] as T;
      if (!this.#isBefore(below, item)) break;
      this.#set(index, below);
      index = child;
    }
    this.#set(index, item);
    return index;
  }
}
