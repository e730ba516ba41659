import type { Work } from './work.ts';
import type { CelType } from './types.ts';

/**
 * A value of an expression. int is a bigint and double a number, so that both keep all digits. Types without a
 * JavaScript primitive are classes in this file, or an `Opaque` of a library.
 */
export type CelValue =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | Uint
  | Duration
  | Timestamp
  | CelList
  | CelMap
  | TypeValue
  | Optional
  | Opaque;

/** The result of an evaluation: a value, or an error, which `&&`, `||` and macros may still ignore. */
export type CelResult = CelValue | CelError;

export class CelError {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

export const isError = (value: CelResult): value is CelError => value instanceof CelError;

export class Uint {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

/** A duration in nanoseconds. */
export class Duration {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

/** A time in nanoseconds since 1970-01-01T00:00:00Z. */
export class Timestamp {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

export class TypeValue {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

export class Optional {
  /** Undefined for an empty optional. */
  readonly value: CelValue | undefined;

  constructor(value: CelValue | undefined) {
    this.value = value;
  }
}

export const none = new Optional(undefined);

/** A value of a type that a library defines. `equals` compares it. */
export abstract class Opaque {
  abstract readonly type: CelType;
  abstract equals(other: Opaque): boolean;

  /** The size that counts for its cost. */
  size(): number {
    return 1;
  }
}

export abstract class CelList {
  abstract readonly length: number;
  /** The element at an integer index from 0 to length - 1. */
  abstract at(index: number): CelValue;

  /** What `==` compares; overridden by a list whose order has no meaning. */
  equals(_other: CelList, _work: Work): boolean | undefined {
    return undefined;
  }

  /** The result of `+`; overridden by a list that merges. */
  plus(_other: CelList, _work: Work): CelList | undefined {
    return undefined;
  }
}

export class ArrayList extends CelList {
  readonly #items: CelValue[];

  constructor(items: CelValue[]) {
    super();
    this.#items = items;
  }

  get length(): number {
    return this.#items.length;
  }

  at(index: number): CelValue {
    return this.#items[index] as CelValue;
  }

  /** Only for a list that the expression cannot see yet. */
  push(value: CelValue): void {
    this.#items.push(value);
  }
}

/** The concatenation of two lists. Nothing is copied, because the cost of `+` does not count the elements. */
export class JoinedList extends CelList {
  readonly length: number;
  readonly #left: CelList;
  readonly #right: CelList;
  /** The last part that was read, and the number of elements before it: most lists are read in order. */
  #part: CelList | undefined;
  #before = 0;

  constructor(left: CelList, right: CelList) {
    super();
    this.#left = left;
    this.#right = right;
    this.length = left.length + right.length;
  }

  at(index: number): CelValue {
    const inPart = index - this.#before;
    if (this.#part !== undefined && inPart >= 0 && inPart < this.#part.length) return this.#part.at(inPart);
    const isLeft = index < this.#left.length;
    let list = isLeft ? this.#left : this.#right;
    let rest = isLeft ? index : index - this.#left.length;
    while (list instanceof JoinedList) {
      const left: CelList = list.#left;
      if (rest < left.length) list = left;
      else {
        rest -= left.length;
        list = list.#right;
      }
    }
    this.#part = list;
    this.#before = index - rest;
    return list.at(rest);
  }
}

/** The form of a map key for lookups: equal numbers are one key, whatever their type. */
export type LookupKey = string | bigint | boolean;

export abstract class CelMap {
  abstract readonly size: number;
  abstract get(key: LookupKey): CelValue | undefined;
  abstract keys(): Iterable<CelValue>;

  /** Whether the field or key exists. */
  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  /** The name of its type, if it is an object with a declared type. */
  get typeName(): string {
    return 'map';
  }
}

export class EntryMap extends CelMap {
  readonly #entries = new Map<LookupKey, readonly [CelValue, CelValue]>();

  get size(): number {
    return this.#entries.size;
  }

  get(key: LookupKey): CelValue | undefined {
    return this.#entries.get(key)?.[1];
  }

  *keys(): Iterable<CelValue> {
    for (const [key] of this.#entries.values()) yield key;
  }

  /** Only for a map that the expression cannot see yet. False if the key exists. */
  add(lookup: LookupKey, key: CelValue, value: CelValue): boolean {
    if (this.#entries.has(lookup)) return false;
    this.#entries.set(lookup, [key, value]);
    return true;
  }
}

/** The form in which a value is looked up in a map. Undefined if it cannot be a key. */
export function lookupKey(value: CelValue): LookupKey | undefined {
  switch (typeof value) {
    case 'string':
    case 'bigint':
    case 'boolean':
      return value;
    case 'number':
      return Number.isInteger(value) ? BigInt(value) : undefined;
    default:
      return value instanceof Uint ? value.value : undefined;
  }
}

/** The name of the type of a value. */
export function valueTypeName(value: CelValue): string {
  if (value === null) return 'null_type';
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'bigint':
      return 'int';
    case 'number':
      return 'double';
    case 'string':
      return 'string';
    default:
      return objectTypeName(value);
  }
}

function objectTypeName(value: Exclude<CelValue, null | boolean | bigint | number | string>): string {
  if (value instanceof CelList) return 'list';
  if (value instanceof CelMap) return value.typeName;
  if (value instanceof Uint) return 'uint';
  if (value instanceof Uint8Array) return 'bytes';
  if (value instanceof Duration) return 'google.protobuf.Duration';
  if (value instanceof Timestamp) return 'google.protobuf.Timestamp';
  if (value instanceof TypeValue) return 'type';
  if (value instanceof Optional) return 'optional_type';
  return value.type.kind === 'opaque' || value.type.kind === 'object' ? value.type.name : value.type.kind;
}
