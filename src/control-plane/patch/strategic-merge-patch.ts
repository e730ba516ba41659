import { isRecord } from '../../base/json-record.ts';
import { setOwn } from '../../api/schema/decode.ts';
import type { ArraySchema, ObjectSchema, Schema } from '../../api/schema/schema.ts';
import { ApiStatusError, badRequest } from '../../api/status/api-status-error.ts';
import { formatGoValue, isJsonArray, jsonTypeName } from './json-value.ts';
import type { JsonObject } from './json-value.ts';
import { checkDepth } from './patch-limits.ts';
import { deleteScalars, mergeLists, orderList } from './strategic-lists.ts';

const DIRECTIVE = '$patch';
const RETAIN_KEYS = '$retainKeys';
const DELETE_FROM_LIST = '$deleteFromPrimitiveList';
const ELEMENT_ORDER = '$setElementOrder';

/**
 * Applies a strategic merge patch. It works as a merge patch, but lists are merged by key or as sets of scalars where
 * the schema says so, and the patch may contain directives: `$patch: replace | delete | merge`, `$retainKeys`,
 * `$deleteFromPrimitiveList/x`, `$setElementOrder/x`. The arguments are not changed. Throws `ApiStatusError`:
 * BadRequest or Invalid for malformed directives, and without a reason if upstream has none (an element without its
 * merge key).
 */
export function applyStrategicMergePatch(schema: ObjectSchema, document: JsonObject, patch: unknown): JsonObject {
  if (patch === null) return document;
  if (!isRecord(patch))
    throw badRequest(`json: cannot unmarshal ${jsonTypeName(patch)} into Go value of type map[string]interface {}`);
  checkDepth(patch);
  return mergeStruct(schema, document, patch);
}

/** Values without a schema for their members: maps of scalars, and arbitrary values. */
const untyped: Schema = { kind: 'opaque' };

function mergeStruct(schema: Schema, original: JsonObject, given: JsonObject): JsonObject {
  if (Object.hasOwn(given, DIRECTIVE)) return byDirective(given);
  const out: Record<string, unknown> = { ...original };
  const patch: Record<string, unknown> = { ...given };
  applyRetainKeys(out, patch);
  applyElementOrders(schema, out, patch);
  for (const key of Object.keys(patch)) {
    const value = patch[key];
    if (key.startsWith(DELETE_FROM_LIST)) applyDeletions(schema, out, { key: targetOf(key, DELETE_FROM_LIST), value });
    else if (value === null) delete out[key];
    else mergeField(schema, out, { key, value });
  }
  return out;
}

/** Applies a directive: `$patch: replace` makes the patch the value, and `$patch: delete` removes the value. */
function byDirective(patch: JsonObject): JsonObject {
  const { [DIRECTIVE]: wanted, ...rest } = patch;
  if (wanted === 'replace') return rest;
  if (wanted === 'delete') return {};
  throw unknownDirective(wanted, patch);
}

interface Entry {
  readonly key: string;
  readonly value: unknown;
}

function mergeField(schema: Schema, out: Record<string, unknown>, { key, value }: Entry): void {
  const before = Object.hasOwn(out, key) ? out[key] : undefined;
  let merged: unknown;
  if (isRecord(before) && isRecord(value)) merged = mergeStructField(structAt(schema, key), before, value);
  else if (isJsonArray(before) && isJsonArray(value)) merged = mergeListField(schema, before, { key, value });
  else merged = withoutDirectives(value);
  if (merged === undefined) delete out[key];
  else setOwn(out, key, merged);
}

function mergeStructField(schema: Schema, before: JsonObject, value: JsonObject): JsonObject {
  return schema.kind === 'object' && schema.patch === 'replace' ? value : mergeStruct(schema, before, value);
}

function mergeListField(
  schema: Schema,
  before: readonly unknown[],
  { key, value }: { readonly key: string; readonly value: readonly unknown[] },
): readonly unknown[] {
  const list = listAt(schema, key);
  const rule = listRule(list);
  return rule === 'replace'
    ? value
    : mergeLists(before, value, {
        mergeKey: rule.mergeKey,
        mergeItem: (ours, theirs) => mergeStruct(list?.items ?? untyped, ours, theirs),
      });
}

/** `$retainKeys`: all other keys are removed. Keys that the patch sets must be included. */
function applyRetainKeys(out: Record<string, unknown>, patch: Record<string, unknown>): void {
  if (!Object.hasOwn(patch, RETAIN_KEYS)) return;
  const kept = patch[RETAIN_KEYS];
  delete patch[RETAIN_KEYS];
  if (!isJsonArray(kept)) throw badRequest('invalid patch format of retainKeys');
  const names = new Set(kept);
  for (const key of Object.keys(patch)) {
    const sets = patch[key] !== null && !key.startsWith(DELETE_FROM_LIST) && !key.startsWith(ELEMENT_ORDER);
    if (sets && !names.has(key)) throw badRequest('invalid patch format of retainKeys');
  }
  for (const key of Object.keys(out)) if (!names.has(key)) delete out[key];
}

function applyDeletions(schema: Schema, out: Record<string, unknown>, { key, value }: Entry): void {
  const before = Object.hasOwn(out, key) ? out[key] : undefined;
  if (value === null) delete out[key];
  if (!isJsonArray(before) || !isJsonArray(value)) return;
  listAt(schema, key);
  setOwn(out, key, deleteScalars(before, value));
}

/** Applies the orders of elements. Lists are merged first, and then sorted. */
function applyElementOrders(schema: Schema, out: Record<string, unknown>, patch: Record<string, unknown>): void {
  for (const directiveKey of Object.keys(patch)) {
    if (!directiveKey.startsWith(ELEMENT_ORDER)) continue;
    const order = patch[directiveKey];
    delete patch[directiveKey];
    if (!isJsonArray(order))
      throw new ApiStatusError('Unknown', `expected a []interface {}, but received a ${goTypeName(order)}`);
    const key = targetOf(directiveKey, ELEMENT_ORDER);
    const before = listOrUndefined(out, key);
    const change = listOrUndefined(patch, key);
    delete patch[key];
    const list = listAt(schema, key);
    const rule = listRule(list);
    const ordered = orderList(before, change === undefined ? undefined : withoutDirectivesInList(change, before), {
      order,
      mergeKey: rule === 'replace' ? undefined : rule.mergeKey,
      merge:
        before === undefined || change === undefined
          ? undefined
          : () => mergeListField(schema, before, { key, value: change }),
    });
    if (ordered !== undefined) setOwn(out, key, ordered);
  }
}

const withoutDirectivesInList = (
  change: readonly unknown[],
  before: readonly unknown[] | undefined,
): readonly unknown[] => (before === undefined ? (withoutDirectives(change) as readonly unknown[]) : change);

function listOrUndefined(object: JsonObject, key: string): readonly unknown[] | undefined {
  const value = Object.hasOwn(object, key) ? (object[key] ?? undefined) : undefined;
  if (value === undefined || isJsonArray(value)) return value;
  throw new ApiStatusError('Unknown', `expected a []interface {}, but received a ${goTypeName(value)}`);
}

function targetOf(key: string, prefix: string): string {
  if (key.startsWith(`${prefix}/`)) return key.slice(prefix.length + 1);
  throw badRequest(
    prefix === DELETE_FROM_LIST
      ? 'invalid patch format of primitive list'
      : 'invalid patch format of setElementOrder list',
  );
}

/**
 * Returns a new value without directives; undefined for an element or field that the patch deletes and that does not
 * exist. In maps null is dropped too, but in lists it stays.
 */
function withoutDirectives(value: unknown): unknown {
  if (isJsonArray(value)) return value.map(withoutDirectives).filter((item) => item !== undefined);
  if (!isRecord(value)) return value;
  if (Object.hasOwn(value, DIRECTIVE)) return undefined;
  const out: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    if (value[key] === null || key === RETAIN_KEYS || key.startsWith(DELETE_FROM_LIST) || key.startsWith(ELEMENT_ORDER))
      continue;
    const child = withoutDirectives(value[key]);
    if (child !== undefined) setOwn(out, key, child);
  }
  return out;
}

type ListRule = 'replace' | { readonly mergeKey: string | undefined };

/** Returns how a list is merged: upstream's patchStrategy and patchMergeKey. */
function listRule(list: ArraySchema | undefined): ListRule {
  if (list === undefined || list.patch === 'replace') return 'replace';
  if (list.patch === 'merge') return { mergeKey: undefined };
  if (list.patch !== undefined) return { mergeKey: list.patch.key };
  const [mergeKey] = list.mergeKeys ?? [];
  return mergeKey === undefined ? 'replace' : { mergeKey };
}

function structAt(schema: Schema, key: string): Schema {
  const field = fieldAt(schema, key);
  return field === undefined || field.kind === 'object' || field.kind === 'map' ? (field ?? untyped) : untyped;
}

function listAt(schema: Schema, key: string): ArraySchema | undefined {
  const field = fieldAt(schema, key);
  return field?.kind === 'array' ? field : undefined;
}

function fieldAt(schema: Schema, key: string): Schema | undefined {
  if (schema.kind === 'opaque') return undefined;
  if (schema.kind !== 'object')
    throw new ApiStatusError(
      'Unknown',
      `merging an object in json but data type is not struct, instead is: ${schema.kind === 'array' ? 'slice' : schema.kind}`,
    );
  const field = Object.hasOwn(schema.fields, key) ? schema.fields[key] : undefined;
  if (field === undefined)
    throw new ApiStatusError(
      'Unknown',
      `unable to find api field in struct ${schema.name} for the json field ${JSON.stringify(key)}`,
    );
  return field.schema;
}

function unknownDirective(wanted: unknown, patch: JsonObject): ApiStatusError {
  return new ApiStatusError('Unknown', `unknown patch type: ${formatGoValue(wanted)} in map: ${formatGoValue(patch)}`);
}

function goTypeName(value: unknown): string {
  switch (jsonTypeName(value)) {
    case 'object':
      return 'map[string]interface {}';
    case 'array':
      return '[]interface {}';
    case 'number':
      return Number.isInteger(value) ? 'int64' : 'float64';
    case 'null':
      return '%!s(<nil>)';
    default:
      return jsonTypeName(value);
  }
}
