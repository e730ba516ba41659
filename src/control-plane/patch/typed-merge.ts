import { isRecord } from '../../base/json-record.ts';
import { setOwn } from '../../api/schema/decode.ts';
import type { ArraySchema, Schema } from '../../api/schema/schema.ts';
import { FieldSetBuilder, hasChildren, isMember, leaf } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import { isJsonArray } from './json-value.ts';
import type { JsonObject } from './json-value.ts';
import { planField, valuesOf } from './object-plan.ts';
import { fieldElement, isAssociative, itemElement } from './path-element.ts';
import { isAtomic } from './typed-fields.ts';

/**
 * Merges the applied configuration into the live value. Scalars and atomic parts are replaced, the rest is merged by
 * the schema, and nothing is removed. List elements are in the order of the configuration, and other elements keep
 * their position between them. Both values must be valid by the schema. Throws `PathElementError`.
 */
export function mergeConfig(schema: Schema, live: unknown, config: unknown): unknown {
  if (live === undefined || live === config) return config;
  if (config === undefined) return live;
  if (isRecord(live) && isRecord(config)) {
    const atomic =
      isAtomic(schema, config) || (schema.kind !== 'object' && schema.kind !== 'map' && schema.kind !== 'opaque');
    return atomic ? config : mergeObjects(schema, live, config);
  }
  if (isJsonArray(live) && isJsonArray(config) && schema.kind === 'array' && isAssociative(schema))
    return config.length === 0 ? live : mergeItems(schema, live, config);
  // Null removes nothing from a merged list or map.
  const merged =
    schema.kind === 'array'
      ? isAssociative(schema)
      : schema.kind === 'object' || schema.kind === 'map'
        ? schema.atomic !== true
        : false;
  return config === null && merged && !isEmptyContainer(live) ? live : config;
}

const isEmptyContainer = (value: unknown): boolean =>
  isJsonArray(value) ? value.length === 0 : isRecord(value) && Object.keys(value).length === 0;

function mergeObjects(schema: Schema, live: JsonObject, config: JsonObject): JsonObject {
  const named = schema.kind === 'object' ? schema : undefined;
  let out: Record<string, unknown> | undefined;
  for (const key of Object.keys(config)) {
    const field = named && planField(named, key);
    if (named !== undefined && field === undefined) continue;
    const before = Object.hasOwn(live, key) ? live[key] : undefined;
    const merged = mergeConfig(field?.schema ?? valuesOf(schema), before, config[key]);
    if (merged === before) continue;
    out ??= { ...live };
    setOwn(out, key, merged);
  }
  return out ?? live;
}

function mergeItems(schema: ArraySchema, live: readonly unknown[], config: readonly unknown[]): readonly unknown[] {
  const liveElements = live.map((item) => itemElement(schema, item));
  const known = new Map<string, unknown>();
  // Duplicate elements are not merged: the configuration's element replaces all of them.
  for (const [index, element] of liveElements.entries())
    known.set(element, known.has(element) ? undefined : live[index]);
  const elements = config.map((item) => itemElement(schema, item));
  const merged = config.map((item, index) => mergeConfig(schema.items, known.get(elements[index] ?? ''), item));
  return interleave(liveElements, elements).map(({ from, index }) => (from === 'config' ? merged[index] : live[index]));
}

/**
 * Computes the order of a merged list. Applied elements come in the order of the configuration. Others come as soon as
 * the live list has them, and before the next element that both have.
 */
function interleave(
  live: readonly string[],
  config: readonly string[],
): readonly { readonly from: 'live' | 'config'; readonly index: number }[] {
  const inLive = new Set(live);
  const inConfig = new Set(config);
  const shared = config.filter((element) => inLive.has(element));
  const order: { from: 'live' | 'config'; index: number }[] = [];
  let [l, c, s] = [0, 0, 0];
  const takeApplied = (): void => {
    order.push({ from: 'config', index: c });
    if (config[c] === shared[s]) s++;
    c++;
  };
  while (l < live.length || c < config.length) {
    const ours = live[l];
    if (ours === undefined) takeApplied();
    else if (!inConfig.has(ours)) order.push({ from: 'live', index: l++ });
    else if (c === config.length) l++;
    else if (ours === config[c]) {
      takeApplied();
      l++;
    } else if (s < shared.length && ours !== shared[s]) l++;
    else {
      // Either all common elements were taken already, or the next one is at this position of the live list and later in the configuration.
      if (s === shared.length) l++;
      takeApplied();
    }
  }
  return order;
}

/** Returns the value without the members of the set. Containers that become empty are kept. */
export function removeFields(schema: Schema, value: unknown, set: FieldSet): unknown {
  if (isAtomic(schema, value)) return value;
  if (isJsonArray(value)) return schema.kind === 'array' ? removeItems(schema, value, set) : value;
  if (!isRecord(value)) return value;
  const named = schema.kind === 'object' ? schema : undefined;
  let out: Record<string, unknown> | undefined;
  for (const key of Object.keys(value)) {
    const element = fieldElement(key);
    const node = Object.hasOwn(set, element) ? set[element] : undefined;
    if (node === undefined) continue;
    out ??= { ...value };
    if (isMember(node)) delete out[key];
    else setOwn(out, key, removeFields((named && planField(named, key))?.schema ?? valuesOf(schema), value[key], node));
  }
  return out ?? value;
}

function removeItems(schema: ArraySchema, items: readonly unknown[], set: FieldSet): readonly unknown[] {
  const out: unknown[] = [];
  for (const item of items) {
    const element = itemElement(schema, item);
    const node = Object.hasOwn(set, element) ? set[element] : undefined;
    if (node === undefined) out.push(item);
    else if (!isMember(node)) out.push(removeFields(schema.items, item, node));
  }
  return out;
}

/**
 * Adds the parents of members that are named fields of types, as removal requires: `spec` if there is `spec.replicas`,
 * but no list elements and no entries of maps.
 */
export function withNamedFields(schema: Schema | undefined, set: FieldSet | undefined): FieldSet | undefined {
  return set === undefined ? undefined : withNamed(schema, set, false);
}

function withNamed(schema: Schema | undefined, set: FieldSet, member: boolean): FieldSet | undefined {
  const named = schema?.kind === 'object' ? schema : undefined;
  const items = schema === undefined ? undefined : itemsOf(schema);
  const out = new FieldSetBuilder(member);
  for (const element of Object.keys(set)) {
    const node = set[element] ?? leaf;
    if (element === '.') continue;
    const field = named !== undefined && element.startsWith('f:') ? planField(named, element.slice(2)) : undefined;
    out.add(
      element,
      hasChildren(node) ? withNamed(field?.schema ?? items, node, isMember(node) || field !== undefined) : leaf,
    );
  }
  return out.build();
}

function itemsOf(schema: Schema): Schema | undefined {
  return schema.kind === 'array' ? schema.items : schema.kind === 'map' ? schema.values : undefined;
}
