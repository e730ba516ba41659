import { setOwn } from '../schema/decode.ts';
import type { ObjectSchema, Schema } from '../schema/schema.ts';
import { planMessage } from './message-plan.ts';
import type { MessagePlan, NumberedField } from './message-plan.ts';

/**
 * Removes from a decoded object what Go would not encode again: empty strings, zeros, false, and empty lists and maps,
 * in fields that cannot distinguish them from absence (upstream: `omitempty` on fields that are not pointers). Thus
 * `hostNetwork: false` and `nodeSelector: {}`, which manifest templates often contain, equal absent fields. A selector
 * with only empty parts is kept, because validation distinguishes it from an absent one. Returns the same object if
 * nothing is removed.
 */
export function dropZeros<T extends object>(object: T, schema: ObjectSchema): T {
  // The result has the same type, because only optional fields are removed.
  return dropIn(object as Fields, planOf(schema)) as T;
}

type Fields = Readonly<Record<string, unknown>>;
type Clean = (value: unknown) => unknown;

interface ZeroPlan {
  readonly droppable: ReadonlySet<string>;
  /** Not changed if nothing would be left, for types that one manager owns as a whole. */
  readonly keepsLast: boolean;
  /** How to clean a field's value, for types that may contain something to remove. */
  readonly inner: ReadonlyMap<string, Clean>;
}

const plans = new WeakMap<ObjectSchema, ZeroPlan>();
const nothing: ZeroPlan = { droppable: new Set(), keepsLast: false, inner: new Map() };

function planOf(schema: ObjectSchema): ZeroPlan {
  let plan = plans.get(schema);
  if (plan === undefined) plans.set(schema, (plan = makePlan(schema)));
  return plan;
}

function makePlan(schema: ObjectSchema): ZeroPlan {
  const message = planMessage(schema);
  if (message === undefined) return nothing;
  const droppable = new Set<string>();
  const inner = new Map<string, Clean>();
  for (const { name, keepsZero } of fieldsOf(message)) {
    const own = schema.fields[name]?.schema;
    if (own === undefined) continue;
    if (!keepsZero && canBeZero(own)) droppable.add(name);
    const clean = cleanerOf(own);
    if (clean !== undefined) inner.set(name, clean);
  }
  return { droppable, keepsLast: schema.atomic === true, inner };
}

function* fieldsOf(message: MessagePlan): Generator<NumberedField> {
  for (const entry of message.values()) {
    if (entry instanceof Map) yield* fieldsOf(entry);
    // What is no plan of an inner message is a field.
    else yield entry as NumberedField;
  }
}

/** Quantities, int-or-string and times are structs in Go, which are always written. */
function canBeZero(schema: Schema): boolean {
  if (schema.kind === 'string') return schema.format === undefined || schema.format === 'bytes';
  return schema.kind === 'number' || schema.kind === 'boolean' || schema.kind === 'array' || schema.kind === 'map';
}

function cleanerOf(schema: Schema): Clean | undefined {
  switch (schema.kind) {
    case 'object':
      return (value) => dropIn(value as Fields, planOf(schema));
    case 'array': {
      const item = cleanerOf(schema.items);
      return item === undefined ? undefined : (value) => mapShared(value as readonly unknown[], item);
    }
    case 'map': {
      const item = cleanerOf(schema.values);
      return item === undefined ? undefined : (value) => mapEntries(value as Fields, item);
    }
    case 'opaque': {
      const { message } = schema;
      // A recursive type: its fields are computed when they are needed.
      if (message === undefined) return undefined;
      return (value) =>
        message.canonical?.isKnown(value) === true ? value : (cleanerOf(message.formOf(value))?.(value) ?? value);
    }
    case 'string':
    case 'number':
    case 'boolean':
    case 'quantity':
    case 'intOrString':
      return undefined;
  }
}

function mapShared(items: readonly unknown[], clean: Clean): readonly unknown[] {
  const cleaned = items.map(clean);
  return cleaned.some((item, index) => item !== items[index]) ? cleaned : items;
}

function mapEntries(entries: Fields, clean: Clean): Fields {
  let changed: Record<string, unknown> | undefined;
  for (const key of Object.keys(entries)) {
    const cleaned = clean(entries[key]);
    if (cleaned === entries[key]) continue;
    changed ??= { ...entries };
    setOwn(changed, key, cleaned);
  }
  return changed ?? entries;
}

function dropIn(object: Fields, { droppable, keepsLast, inner }: ZeroPlan): Fields {
  let changed: Record<string, unknown> | undefined;
  for (const key in object) {
    const value = object[key];
    if (droppable.has(key) && isZero(value)) {
      changed ??= { ...object };
      delete changed[key];
      continue;
    }
    const clean = inner.get(key);
    const cleaned = clean === undefined || value === undefined ? value : clean(value);
    if (cleaned === value) continue;
    changed ??= { ...object };
    changed[key] = cleaned;
  }
  if (changed === undefined || (keepsLast && Object.keys(changed).length === 0)) return object;
  return changed;
}

function isZero(value: unknown): boolean {
  if (value === '' || value === 0 || value === false) return true;
  if (typeof value !== 'object' || value === null) return false;
  return Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0;
}
