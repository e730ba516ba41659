import { equals } from '../../cel/equality.ts';
import type { Work } from '../../cel/work.ts';
import type { Adapt } from '../../cel/json-values.ts';
import { JsonList } from '../../cel/json-values.ts';
import type { CelList, CelValue } from '../../cel/values.ts';
import { ArrayList, CelMap, lookupKey } from '../../cel/values.ts';

function itemsOf(list: CelList, work: Work): CelValue[] {
  work.step(list.length);
  return Array.from({ length: list.length }, (_none, index) => list.at(index));
}

/** A list of the list type `set`: `==` ignores the order, and `+` adds missing elements. */
export class SetList extends JsonList {
  override equals(other: CelList, work: Work): boolean {
    const [mine, theirs] = [itemsOf(this, work), itemsOf(other, work)];
    return mine.every((value) => includes(theirs, value, work)) && theirs.every((value) => includes(mine, value, work));
  }

  override plus(other: CelList, work: Work): CelList {
    const joined = itemsOf(this, work);
    const known = new Set(joined.map(lookupKey));
    for (const value of itemsOf(other, work)) {
      // Scalars are known by their value, others only by `==`.
      const key = lookupKey(value);
      const isThere = key === undefined ? includes(joined, value, work) : known.has(key);
      if (isThere) continue;
      known.add(key);
      joined.push(value);
    }
    return new ArrayList(joined);
  }
}

function includes(items: readonly CelValue[], wanted: CelValue, work: Work): boolean {
  return items.some((item) => equals(item, wanted, work));
}

/**
 * A list of the list type `map`: elements are identified by their keys, and `+` replaces elements with the same keys.
 */
export class MergedList extends JsonList {
  readonly #keys: readonly string[];

  constructor(items: readonly unknown[], adapt: Adapt, keys: readonly string[]) {
    super(items, adapt);
    this.#keys = keys;
  }

  #identity(value: CelValue): string {
    if (!(value instanceof CelMap)) return '';
    return JSON.stringify(this.#keys.map((key) => [typeof value.get(key), String(value.get(key))]));
  }

  #byKey(list: CelList, work: Work): Map<string, CelValue> {
    return new Map(itemsOf(list, work).map((value) => [this.#identity(value), value]));
  }

  override equals(other: CelList, work: Work): boolean {
    const [mine, theirs] = [this.#byKey(this, work), this.#byKey(other, work)];
    if (mine.size !== theirs.size) return false;
    for (const [key, value] of mine) {
      const found = theirs.get(key);
      if (found === undefined || !equals(value, found, work)) return false;
    }
    return true;
  }

  override plus(other: CelList, work: Work): CelList {
    const joined = this.#byKey(this, work);
    for (const [key, value] of this.#byKey(other, work)) joined.set(key, value);
    return new ArrayList([...joined.values()]);
  }
}
