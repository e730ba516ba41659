import { isRecord } from '../../base/json-record.ts';
import type { ArraySchema, ObjectSchema, Schema } from '../../api/schema/schema.ts';
import { FieldSetBuilder, leaf } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import { equalJson, isJsonArray } from './json-value.ts';
import type { JsonObject } from './json-value.ts';
import { planField, valuesOf } from './object-plan.ts';
import { fieldElement, itemElement } from './path-element.ts';
import { isAbsent, isAtomic, wholeNode } from './typed-fields.ts';

/** The changes of a write by field. The sets are disjoint. */
export interface Comparison {
  /** New and changed fields, which the writer now owns. */
  readonly changed: FieldSet | undefined;
  readonly removed: FieldSet | undefined;
}

const same: Comparison = { changed: undefined, removed: undefined };

/**
 * Compares two values of one schema. Identical objects cost nothing. With `emptied`, an atomic list or map that became
 * empty counts as changed (because it was applied), and not as removed (as in a stored object). Throws
 * `PathElementError`.
 */
export function compareFields(
  schema: Schema,
  before: unknown,
  after: unknown,
  emptied: 'gone' | 'changed' = 'gone',
): Comparison {
  if (before === after) return same;
  const comparer = new Comparer(emptied);
  comparer.below(schema, before, after);
  return { changed: comparer.changed.build(), removed: comparer.removed.build() };
}

class Comparer {
  readonly changed = new FieldSetBuilder();
  readonly removed = new FieldSetBuilder();
  readonly #emptied: 'gone' | 'changed';

  constructor(emptied: 'gone' | 'changed') {
    this.#emptied = emptied;
  }

  /** Compares what is in two containers of one kind. */
  below(schema: Schema, before: unknown, after: unknown): void {
    if (isRecord(before) && isRecord(after)) {
      if (schema.kind === 'object') this.#structs(schema, before, after);
      else this.#entries(valuesOf(schema), before, after);
    } else if (isJsonArray(before) && isJsonArray(after) && schema.kind === 'array') this.#items(schema, before, after);
  }

  #structs(schema: ObjectSchema, before: JsonObject, after: JsonObject): void {
    for (const key of Object.keys(after)) {
      const field = planField(schema, key);
      if (field === undefined) continue;
      const now = after[key];
      const then = Object.hasOwn(before, key) ? before[key] : undefined;
      if (then === now) continue;
      const present =
        !isAbsent(field.schema, now) ||
        (now !== undefined && this.#emptied === 'changed' && isAtomic(field.schema, now));
      if (!isAbsent(field.schema, then)) {
        if (present) this.#both(field.element, field.schema, then, now);
        else this.#gone(field.element, field.schema, then);
      } else if (present) this.#new(field.element, field.schema, now, field.alwaysThere);
    }
    for (const key of Object.keys(before)) {
      const field = planField(schema, key);
      if (field !== undefined && !Object.hasOwn(after, key) && !isAbsent(field.schema, before[key]))
        this.#gone(field.element, field.schema, before[key]);
    }
  }

  #entries(values: Schema, before: JsonObject, after: JsonObject): void {
    for (const key of Object.keys(after)) {
      const then = Object.hasOwn(before, key) ? before[key] : undefined;
      if (then === after[key]) continue;
      if (then === undefined) this.#new(fieldElement(key), values, after[key], false);
      else if (after[key] !== undefined) this.#both(fieldElement(key), values, then, after[key]);
    }
    for (const key of Object.keys(before))
      if ((Object.hasOwn(after, key) ? after[key] : undefined) === undefined && before[key] !== undefined)
        this.#gone(fieldElement(key), values, before[key]);
  }

  #items(schema: ArraySchema, before: readonly unknown[], after: readonly unknown[]): void {
    const then = itemsByElement(schema, before);
    const now = itemsByElement(schema, after);
    for (const [element, items] of now) {
      const old = then.get(element);
      if (old === undefined) this.#newItems(element, schema.items, items);
      else if (old.length === 1 && items.length === 1) this.#both(element, schema.items, old[0], items[0]);
      else this.#repeated(element, schema.items, old, items);
    }
    for (const [element, items] of then) if (!now.has(element)) this.#goneItems(element, schema.items, items);
  }

  #newItems(element: string, schema: Schema, items: readonly unknown[]): void {
    if (items.length === 1) this.#new(element, schema, items[0], false);
    else this.changed.add(element, leaf);
  }

  #goneItems(element: string, schema: Schema, items: readonly unknown[]): void {
    if (items.length === 1) this.#gone(element, schema, items[0]);
    else this.removed.add(element, leaf);
  }

  /** Duplicate elements are compared as one value. */
  #repeated(element: string, schema: Schema, old: readonly unknown[], items: readonly unknown[]): void {
    if (old.length > 1 && items.length > 1) {
      if (!equalJson(old, items)) this.changed.add(element, leaf);
      return;
    }
    this.#goneItems(element, schema, old);
    this.#newItems(element, schema, items);
  }

  #both(element: string, schema: Schema, before: unknown, after: unknown): void {
    if (before === after) return;
    if (isAtomic(schema, before) || isAtomic(schema, after)) {
      if (!equalJson(before, after)) this.changed.add(element, leaf);
      return;
    }
    const { changed, removed } = compareFields(schema, before, after, this.#emptied);
    this.changed.add(element, changed);
    this.removed.add(element, removed);
  }

  #new(element: string, schema: Schema, value: unknown, alwaysThere: boolean): void {
    this.changed.add(element, wholeNode(schema, value, alwaysThere ? 'kept' : 'new'));
  }

  #gone(element: string, schema: Schema, value: unknown): void {
    this.removed.add(element, wholeNode(schema, value, 'new'));
  }
}

function itemsByElement(schema: ArraySchema, items: readonly unknown[]): Map<string, unknown[]> {
  const found = new Map<string, unknown[]>();
  for (const item of items) {
    const element = itemElement(schema, item);
    const others = found.get(element);
    if (others === undefined) found.set(element, [item]);
    else others.push(item);
  }
  return found;
}
