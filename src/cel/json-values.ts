import type { Work } from './work.ts';
import { formatDuration, formatTimestamp } from './time/formats.ts';
import type { CelValue, LookupKey } from './values.ts';
import { CelError, CelList, CelMap, Duration, lookupKey, Optional, Timestamp, Uint } from './values.ts';

/** Converts a part of a JSON document to a value. Nothing is copied: lists and maps read from the document. */
export type Adapt = (raw: unknown) => CelValue;

/** Without a schema, whole numbers become int and other numbers double. */
export const fromJson: Adapt = (raw) => {
  switch (typeof raw) {
    case 'string':
    case 'boolean':
    case 'bigint':
      return raw;
    case 'number':
      return Number.isInteger(raw) && Math.abs(raw) < 2 ** 63 ? BigInt(raw) : raw;
    case 'object':
      if (raw === null) return null;
      return Array.isArray(raw) ? new JsonList(raw, fromJson) : new JsonMap(raw as Record<string, unknown>, fromJson);
    default:
      return null;
  }
};

export class JsonList extends CelList {
  readonly #items: readonly unknown[];
  readonly #adapt: Adapt;

  constructor(items: readonly unknown[], adapt: Adapt) {
    super();
    this.#items = items;
    this.#adapt = adapt;
  }

  get length(): number {
    return this.#items.length;
  }

  at(index: number): CelValue {
    return this.#adapt(this.#items[index]);
  }
}

/** A map with string keys. Only own properties count, so `constructor` is an ordinary name. */
export class JsonMap extends CelMap {
  readonly #record: Readonly<Record<string, unknown>>;
  readonly #adapt: Adapt;
  #size: number | undefined;

  constructor(record: Readonly<Record<string, unknown>>, adapt: Adapt) {
    super();
    this.#record = record;
    this.#adapt = adapt;
  }

  get size(): number {
    this.#size ??= Object.values(this.#record).filter((value) => value !== undefined).length;
    return this.#size;
  }

  get(key: LookupKey): CelValue | undefined {
    if (typeof key !== 'string' || !Object.hasOwn(this.#record, key)) return undefined;
    const raw = this.#record[key];
    return raw === undefined ? undefined : this.#adapt(raw);
  }

  *keys(): Iterable<CelValue> {
    for (const [key, value] of Object.entries(this.#record)) if (value !== undefined) yield key;
  }
}

/** A field of an object with a declared type: its name in the document, and the conversion of its value. */
export interface JsonField {
  readonly name: string;
  readonly adapt: Adapt;
}

/** An object with declared fields. Other fields of the document are not visible. */
export class JsonObject extends CelMap {
  readonly #record: Readonly<Record<string, unknown>>;
  readonly #fields: (name: string) => JsonField | undefined;
  readonly #typeName: string;

  constructor(
    record: Readonly<Record<string, unknown>>,
    fields: (name: string) => JsonField | undefined,
    type: string,
  ) {
    super();
    this.#record = record;
    this.#fields = fields;
    this.#typeName = type;
  }

  override get typeName(): string {
    return this.#typeName;
  }

  get size(): number {
    return Object.keys(this.#record).length;
  }

  get(key: LookupKey): CelValue | undefined {
    const field = typeof key === 'string' ? this.#fields(key) : undefined;
    if (field === undefined || !Object.hasOwn(this.#record, field.name)) return undefined;
    const raw = this.#record[field.name];
    return raw === undefined ? undefined : field.adapt(raw);
  }

  *keys(): Iterable<CelValue> {
    yield* Object.keys(this.#record);
  }

  /** Objects are compared completely, including undeclared fields. */
  whole(): CelMap {
    return new JsonMap(this.#record, fromJson);
  }
}

/** The value as JSON. Throws for values that JSON cannot express, such as types. */
export function toJson(value: CelValue, work: Work): unknown {
  work.step();
  if (value === null || typeof value !== 'object') return plainNumber(value);
  if (value instanceof CelList) {
    const items: unknown[] = [];
    for (let index = 0; index < value.length; index += 1) items.push(toJson(value.at(index), work));
    return items;
  }
  if (value instanceof CelMap) return mapToJson(value, work);
  if (value instanceof Uint) return plainNumber(value.value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Optional) return value.value === undefined ? null : toJson(value.value, work);
  return new CelError(`type conversion error from '${'type' in value ? String(value.type) : 'type'}' to JSON`);
}

function plainNumber(value: CelValue): unknown {
  return typeof value === 'bigint' && Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

function mapToJson(map: CelMap, work: Work): unknown {
  const made: Record<string, unknown> = {};
  for (const key of map.keys()) {
    const lookup = lookupKey(key);
    const found = lookup === undefined ? undefined : map.get(lookup);
    if (found === undefined) continue;
    const json = toJson(found, work);
    if (json instanceof CelError) return json;
    Object.defineProperty(made, String(lookup), { value: json, enumerable: true, writable: true, configurable: true });
  }
  return made;
}
