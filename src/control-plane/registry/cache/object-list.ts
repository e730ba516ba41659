import type { CachedObject } from './stored-form.ts';

/** The objects of one kind, by key and in the order of keys: `namespace/name`, or the name. */
export class ObjectList {
  readonly #byKey = new Map<string, CachedObject>();
  /** Sorted; kept so by insertion, since keys come one by one. */
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

  /** Those whose key begins with `prefix` and comes after `afterKey`. */
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

  /** How many keys begin with `prefix` and come after `afterKey`; costs the same however many they are. */
  countAfter(prefix: string, afterKey: string): number {
    let from = this.#position(afterKey > prefix ? afterKey : prefix);
    if (this.#keys[from] === afterKey) from++;
    // No key has a character after this one.
    return this.#position(`${prefix}\uffff`) - from;
  }

  /** The objects below `prefix` as they are now, in a list of their own. */
  snapshot(prefix: string): ObjectList {
    const copy = new ObjectList();
    for (const [key, object] of this.range(prefix)) {
      copy.#keys.push(key);
      copy.#byKey.set(key, object);
    }
    return copy;
  }

  /** The index of `key`, or where it would be inserted. */
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
