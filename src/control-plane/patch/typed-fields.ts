import { isRecord } from '../../base/json-record.ts';
import type { ObjectSchema, Schema } from '../../api/schema/schema.ts';
import { FieldSetBuilder, leaf } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import { isJsonArray } from './json-value.ts';
import type { JsonObject } from './json-value.ts';
import { planField, valuesOf } from './object-plan.ts';
import { fieldElement, isAssociative, itemElement } from './path-element.ts';

/** Whether the list, map or raw object is owned as a whole. Without a schema only lists are. */
export function isAtomic(schema: Schema, value: unknown): boolean {
  if (!isRecord(value)) return !(isJsonArray(value) && schema.kind === 'array' && isAssociative(schema));
  return (schema.kind === 'object' || schema.kind === 'map' || schema.kind === 'opaque') && schema.atomic === true;
}

/**
 * Returns the fields of a configuration that its applier owns: scalars, whole atomic lists and maps, elements of lists,
 * entries of maps, and containers only if they are empty. Throws `PathElementError`. It is undefined if there are none.
 */
export function appliedFields(schema: Schema, value: unknown): FieldSet | undefined {
  return applied(schema, value, false);
}

/** `member` means that the element itself is in the set, and not only its content. */
function applied(schema: Schema, value: unknown, member: boolean): FieldSet | undefined {
  if (isAtomic(schema, value)) return member ? leaf : undefined;
  const out = new FieldSetBuilder(member);
  if (isJsonArray(value)) addItems(out, schema, value);
  else if (isRecord(value)) {
    if (schema.kind === 'object') addStruct(out, schema, value);
    else addEntries(out, valuesOf(schema), value);
  }
  return out.build();
}

function addStruct(out: FieldSetBuilder, schema: ObjectSchema, value: JsonObject): void {
  for (const key of Object.keys(value)) {
    const field = planField(schema, key);
    const child = value[key];
    if (field === undefined || child === undefined) continue;
    out.add(
      field.element,
      isAtomic(field.schema, child) || isEmptyMap(child) ? leaf : applied(field.schema, child, false),
    );
  }
}

function addEntries(out: FieldSetBuilder, values: Schema, value: JsonObject): void {
  for (const key of Object.keys(value))
    if (value[key] !== undefined) out.add(fieldElement(key), applied(values, value[key], true));
}

/** A duplicate element is owned as a whole, without its fields. */
function addItems(out: FieldSetBuilder, schema: Schema, items: readonly unknown[]): void {
  if (schema.kind !== 'array') return;
  const seen = new Set<string>();
  for (const item of items) {
    const element = itemElement(schema, item);
    out.add(element, seen.has(element) ? leaf : applied(schema.items, item, true));
    seen.add(element);
  }
}

function isEmptyMap(value: unknown): boolean {
  if (!isRecord(value)) return false;
  for (const key in value) if (value[key] !== undefined) return false;
  return true;
}

interface Whole {
  /** Whether the element itself is in the set. */
  readonly member: boolean;
  /** Whether the container already existed. Then fields that always exist count only through their members. */
  readonly inherited: boolean;
}
const inside: Whole = { member: true, inherited: false };

/** All fields of a new or removed value, including containers. For `kept` containers only their members. */
export function wholeFields(schema: Schema, value: unknown, container: 'kept' | 'new' = 'new'): FieldSet | undefined {
  return whole(schema, value, { member: false, inherited: container === 'kept' });
}

/** Returns the same for an element, including itself unless it is kept. */
export function wholeNode(schema: Schema, value: unknown, container: 'kept' | 'new'): FieldSet | undefined {
  return container === 'new'
    ? whole(schema, value, inside)
    : isAtomic(schema, value)
      ? leaf
      : wholeFields(schema, value, 'kept');
}

function whole(schema: Schema, value: unknown, { member, inherited }: Whole): FieldSet | undefined {
  if (isAtomic(schema, value)) return member ? leaf : undefined;
  const out = new FieldSetBuilder(member);
  if (isJsonArray(value)) addWholeItems(out, schema, value);
  else if (isRecord(value)) {
    if (schema.kind === 'object') addWholeStruct(out, schema, { value, inherited });
    else
      for (const key of Object.keys(value))
        if (value[key] !== undefined) out.add(fieldElement(key), whole(valuesOf(schema), value[key], inside));
  }
  return out.build();
}

function addWholeStruct(
  out: FieldSetBuilder,
  schema: ObjectSchema,
  { value, inherited }: { readonly value: JsonObject; readonly inherited: boolean },
): void {
  for (const key of Object.keys(value)) {
    const field = planField(schema, key);
    if (field !== undefined && !isAbsent(field.schema, value[key]))
      out.add(field.element, wholeNode(field.schema, value[key], inherited && field.alwaysThere ? 'kept' : 'new'));
  }
}

function addWholeItems(out: FieldSetBuilder, schema: Schema, items: readonly unknown[]): void {
  if (schema.kind !== 'array') return;
  const seen = new Set<string>();
  for (const item of items) {
    const element = itemElement(schema, item);
    out.add(element, seen.has(element) ? leaf : whole(schema.items, item, inside));
    seen.add(element);
  }
}

/** Whether the value is left out when the API server writes an object, as empty lists and maps are. */
export function isAbsent(schema: Schema, value: unknown): boolean {
  if (value === undefined) return true;
  if (schema.kind === 'array') return schema.keepsEmpty !== true && isJsonArray(value) && value.length === 0;
  return schema.kind === 'map' && schema.keepsEmpty !== true && isEmptyMap(value);
}
