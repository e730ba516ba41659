import { formatKey, keyOf } from './resource-type.ts';
import type { ApiObject, ObjectKey } from './resource-type.ts';

/** Objects grouped by a value: those in a namespace, those of an owner, those on a node. */
export interface ObjectIndex<T> {
  /** The order is undefined. */
  get(value: string): readonly T[];
  count(value: string): number;
  /** The values with at least one object. */
  values(): Iterable<string>;
}

/**
 * The values under which an object is found: none, one, or several. Must be pure, because it is called again for the
 * old object.
 */
export type IndexBy<T> = (object: T) => readonly string[];

/** Reading side of a store. The objects are shared and must not be changed in place. */
export interface ObjectLister<T extends ApiObject> {
  get(key: ObjectKey): T | undefined;
  /** By `namespace/name`. */
  getByKey(key: string): T | undefined;
  /** '' lists all namespaces. The order is undefined. */
  list(namespace?: string): readonly T[];
  readonly size: number;
}

const nothing: readonly never[] = [];

class LiveIndex<T> implements ObjectIndex<T> {
  readonly #by: IndexBy<T>;
  readonly #groups = new Map<string, Map<string, T>>();

  constructor(by: IndexBy<T>) {
    this.#by = by;
  }

  get(value: string): readonly T[] {
    const group = this.#groups.get(value);
    return group === undefined ? nothing : [...group.values()];
  }

  count(value: string): number {
    return this.#groups.get(value)?.size ?? 0;
  }

  values(): Iterable<string> {
    return this.#groups.keys();
  }

  put(key: string, before: T | undefined, after: T): void {
    const values = this.#by(after);
    if (before !== undefined)
      for (const value of this.#by(before)) if (!values.includes(value)) this.#remove(key, value);
    for (const value of values) {
      let group = this.#groups.get(value);
      if (group === undefined) this.#groups.set(value, (group = new Map<string, T>()));
      group.set(key, after);
    }
  }

  delete(key: string, before: T): void {
    for (const value of this.#by(before)) this.#remove(key, value);
  }

  #remove(key: string, value: string): void {
    const group = this.#groups.get(value);
    group?.delete(key);
    if (group?.size === 0) this.#groups.delete(value);
  }
}

/** Objects by `namespace/name`, with the indexes that readers asked for. Holds references only. */
export class ObjectStore<T extends ApiObject> implements ObjectLister<T> {
  readonly #objects = new Map<string, T>();
  readonly #indexes = new Map<string, LiveIndex<T>>();

  get(key: ObjectKey): T | undefined {
    return this.#objects.get(formatKey(key));
  }

  getByKey(key: string): T | undefined {
    return this.#objects.get(key);
  }

  list(namespace = ''): readonly T[] {
    if (namespace === '') return [...this.#objects.values()];
    return this.index('namespace', (object) => [object.metadata.namespace]).get(namespace);
  }

  get size(): number {
    return this.#objects.size;
  }

  keys(): readonly string[] {
    return [...this.#objects.keys()];
  }

  /** The index with this name. `by` is only used by the first caller, so that all readers share one index. */
  index(name: string, by: IndexBy<T>): ObjectIndex<T> {
    let index = this.#indexes.get(name);
    if (index === undefined) {
      index = new LiveIndex(by);
      for (const [key, object] of this.#objects) index.put(key, undefined, object);
      this.#indexes.set(name, index);
    }
    return index;
  }

  /** Returns the previous object. */
  put(object: T): T | undefined {
    const key = formatKey(keyOf(object));
    const before = this.#objects.get(key);
    this.#objects.set(key, object);
    for (const index of this.#indexes.values()) index.put(key, before, object);
    return before;
  }

  delete(key: string): T | undefined {
    const before = this.#objects.get(key);
    if (before === undefined) return undefined;
    this.#objects.delete(key);
    for (const index of this.#indexes.values()) index.delete(key, before);
    return before;
  }
}
