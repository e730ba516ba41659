import type { ArraySchema, ObjectSchema, Schema } from '../../api/schema/schema.ts';
import { FieldSetBuilder, leaf, makeNode } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import { isJsonArray, isJsonObject } from './json-value.ts';
import type { JsonObject } from './json-value.ts';
import { objectPlan, valuesOf } from './object-plan.ts';
import { fieldElement, isAssociative, itemElement } from './path-element.ts';

/** A list or map that has one owner for all of it, as scalars have; of what has no schema, lists. */
export function isAtomic(schema: Schema, value: unknown): boolean {
  if (!isJsonObject(value)) return !(isJsonArray(value) && schema.kind === 'array' && isAssociative(schema));
  return (schema.kind === 'object' || schema.kind === 'map') && schema.atomic === true;
}

/**
 * The fields a configuration mentions, as the one who applies it owns them: scalars, whole atomic lists and maps, elements of lists, entries of maps, and
 * containers only when they are empty. Throws `PathElementError`. `undefined` when there are none.
 */
export function appliedFields(schema: Schema, value: unknown): FieldSet | undefined {
  if (isJsonObject(value)) return schema.kind === 'object' ? structFields(schema, value) : entryFields(valuesOf(schema), value);
  return isJsonArray(value) && schema.kind === 'array' ? itemFields(schema, value) : undefined;
}

function structFields(schema: ObjectSchema, value: JsonObject): FieldSet | undefined {
  const plan = objectPlan(schema);
  const out = new FieldSetBuilder();
  for (const key of Object.keys(value)) {
    const field = plan.get(key);
    const child = value[key];
    if (field === undefined || child === undefined) continue;
    out.add(field.element, isAtomic(field.schema, child) || isEmptyMap(child) ? leaf : appliedFields(field.schema, child));
  }
  return out.build();
}

function entryFields(values: Schema, value: JsonObject): FieldSet | undefined {
  const out = new FieldSetBuilder();
  for (const key of Object.keys(value)) {
    const child = value[key];
    if (child !== undefined) out.add(fieldElement(key), isAtomic(values, child) ? leaf : makeNode(true, appliedFields(values, child)));
  }
  return out.build();
}

/** An element that is there twice is owned as such, without what is in it. */
function itemFields(schema: ArraySchema, items: readonly unknown[]): FieldSet | undefined {
  const out = new FieldSetBuilder();
  const seen = new Set<string>();
  for (const item of items) {
    const element = itemElement(schema, item);
    const again = seen.has(element);
    seen.add(element);
    out.add(element, again || isAtomic(schema.items, item) ? leaf : makeNode(true, appliedFields(schema.items, item)));
  }
  return out.build();
}

function isEmptyMap(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  for (const key in value) if (value[key] !== undefined) return false;
  return true;
}

/**
 * The fields that come with a new value, or go with an old one: all that is there, containers included.
 * `inherited`: the container itself was there already, so that of its fields those that are always there count only by what is in them.
 */
export function wholeFields(schema: Schema, value: unknown, inherited = false): FieldSet | undefined {
  if (isJsonObject(value)) return schema.kind === 'object' ? wholeStruct(schema, value, inherited) : wholeEntries(valuesOf(schema), value);
  return isJsonArray(value) && schema.kind === 'array' ? wholeItems(schema, value) : undefined;
}

function wholeStruct(schema: ObjectSchema, value: JsonObject, inherited: boolean): FieldSet | undefined {
  const plan = objectPlan(schema);
  const out = new FieldSetBuilder();
  for (const key of Object.keys(value)) {
    const field = plan.get(key);
    const child = value[key];
    if (field === undefined || isAbsent(field.schema, child)) continue;
    if (isAtomic(field.schema, child)) out.add(field.element, leaf);
    else out.add(field.element, makeNode(!(inherited && field.alwaysThere), wholeFields(field.schema, child, inherited && field.alwaysThere)));
  }
  return out.build();
}

function wholeEntries(values: Schema, value: JsonObject): FieldSet | undefined {
  const out = new FieldSetBuilder();
  for (const key of Object.keys(value)) {
    const child = value[key];
    if (child !== undefined) out.add(fieldElement(key), isAtomic(values, child) ? leaf : makeNode(true, wholeFields(values, child)));
  }
  return out.build();
}

function wholeItems(schema: ArraySchema, items: readonly unknown[]): FieldSet | undefined {
  const out = new FieldSetBuilder();
  const seen = new Set<string>();
  for (const item of items) {
    const element = itemElement(schema, item);
    const again = seen.has(element);
    seen.add(element);
    out.add(element, again || isAtomic(schema.items, item) ? leaf : makeNode(true, wholeFields(schema.items, item)));
  }
  return out.build();
}

/** Lists and maps without anything in them are left out when the API server writes an object. */
export function isAbsent(schema: Schema, value: unknown): boolean {
  if (value === undefined) return true;
  if (schema.kind === 'array') return isJsonArray(value) && value.length === 0;
  return schema.kind === 'map' && isEmptyMap(value);
}
