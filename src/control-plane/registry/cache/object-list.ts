import type { CachedObject } from './stored-form.ts';

/** The objects of one kind, sorted by key: `namespace/name`, or the name. */
export class ObjectList {
  readonly #byKey = new Map<string, CachedObject>();
  /** The sorted keys. Keys arrive one by one and are inserted in place. */
  readonly #keys: string[] = [];

  get size(): number {
    return this.#byKey.size;
  }

  get(key: string): CachedObject | undefined {
    return this.#byKey.get(key);
  }

  set(key: string, object: CachedObject): void {
    if (!this.#byKey.has(key)) {
      const at = this.#position(key);
      if (at === this.#keys.length) this.#keys.push(key);
      else this.#keys.splice(at, 0, key);
    }
    this.#byKey.set(key, object);
  }

  delete(key: string): void {
    if (this.#byKey.delete(key)) this.#keys.splice(this.#position(key), 1);
  }

  keys(): readonly string[] {
    return this.#keys;
  }

  /** Yields the objects whose key begins with `prefix` and comes after `afterKey`. */
  *range(prefix: string, afterKey = ''): Generator<readonly [string, CachedObject]> {
    for (let at = this.#position(afterKey > prefix ? afterKey : prefix); at < this.#keys.length; at++) {
      const key = this.#keys[at] ?? '';
      if (!key.startsWith(prefix)) {
        if (key > prefix) return;
        continue;
      }
      const object = this.#byKey.get(key);
      if (key !== afterKey && object !== undefined) yield [key, object];
    }
  }

  /** Counts the keys that begin with `prefix` and come after `afterKey`. The cost does not depend on their number. */
  countAfter(prefix: string, afterKey: string): number {
    let from = this.#position(afterKey > prefix ? afterKey : prefix);
    if (this.#keys[from] === afterKey) from++;
    // No key has a character greater than this one.
    return this.#position(`${prefix}\uffff`) - from;
  }

  /** Copies the objects below `prefix` into a separate list. */
  snapshot(prefix: string): ObjectList {
    const copy = new ObjectList();
    for (const [key, object] of this.range(prefix)) {
      copy.#keys.push(key);
      copy.#byKey.set(key, object);
    }
    return copy;
  }

  /** Returns the index of `key`, or the index where it would be inserted. */
  #position(key: string): number {
    let low = 0;
    let high = this.#keys.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#keys[middle] ?? '') < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
