import { isRecord } from '../../base/json-record.ts';
import { parseExactJson } from '../../base/exact-json.ts';
import { goJson } from '../../api/go-json.ts';
import { goQuote } from '../../api/go-quote.ts';
import type { ArraySchema, ObjectSchema, Schema } from '../../api/schema/schema.ts';
import { FieldSetBuilder, leaf, makeNode, plainElement } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import { own } from './json-value.ts';

/** The error of a list element without a path element, with the API server's text. */
export class PathElementError extends Error {
  override readonly name = 'PathElementError';
}

export const fieldElement = (name: string): string => `f:${name}`;

/** Whether the elements of the list are owned one by one. */
export function isAssociative(schema: ArraySchema): boolean {
  return schema.listType === 'set' || schema.mergeKeys !== undefined;
}

/** The path element of an element of an associative list. Throws `PathElementError`. */
export function itemElement(schema: ArraySchema, item: unknown): string {
  return schema.mergeKeys === undefined ? valueElement(item) : keyElement(schema, item);
}

function valueElement(item: unknown): string {
  if (Array.isArray(item)) throw new PathElementError('not supported: associative list with lists as elements');
  if (item === null || item === undefined)
    throw new PathElementError("associative list without keys has an element that's an explicit null");
  if (typeof item === 'object')
    throw new PathElementError("associative list without keys has an element that's a map type");
  return `v:${jsonText(item)}`;
}

function keyElement(schema: ArraySchema, item: unknown): string {
  if (item === null || item === undefined)
    throw new PathElementError('associative list with keys may not have a null element');
  if (!isRecord(item)) throw new PathElementError('associative list with keys may not have non-map elements');
  const { keys, single } = keyPlan(schema);
  if (single !== undefined) {
    const value = own(item, single.name);
    if (typeof value === 'string') return `${single.start}${jsonText(value)}}`;
  }
  const parts: string[] = [];
  for (const { name, quoted, missing } of keys) {
    const value = own(item, name) ?? missing;
    if (value !== undefined) parts.push(`${quoted}:${jsonText(value)}`);
  }
  if (parts.length > 0) return `k:{${parts.join(',')}}`;
  const names = (schema.mergeKeys ?? []).map(goQuote).join(' ');
  throw new PathElementError(
    `associative list with keys has an element that omits all key fields [${names}] (and doesn't have default values for any key fields)`,
  );
}

interface KeyPlan {
  readonly keys: readonly { readonly name: string; readonly quoted: string; readonly missing: unknown }[];
  readonly single: { readonly name: string; readonly start: string } | undefined;
}
const keyPlans = new WeakMap<ArraySchema, KeyPlan>();

/** Merge keys in their written order, with the defaults for missing keys. */
function keyPlan(schema: ArraySchema): KeyPlan {
  let plan = keyPlans.get(schema);
  if (plan === undefined) {
    const keys = [...(schema.mergeKeys ?? [])]
      .sort()
      .map((name) => ({ name, quoted: JSON.stringify(name), missing: missingKey(schema, name) }));
    const [first] = keys;
    plan = {
      keys,
      single: keys.length === 1 && first !== undefined ? { name: first.name, start: `k:{${first.quoted}:` } : undefined,
    };
    keyPlans.set(schema, plan);
  }
  return plan;
}

/**
 * Returns the default of a missing key. Go writes the zero value of a required field, which the API's schemas call its
 * default.
 */
function missingKey(schema: ArraySchema, name: string): unknown {
  const given = schema.keyDefaults?.[name];
  if (given !== undefined) return given;
  const items: Schema = schema.items;
  const field = items.kind === 'object' ? (items as ObjectSchema).fields[name] : undefined;
  if (field?.required !== true) return undefined;
  return field.schema.kind === 'number' || field.schema.kind === 'intOrString'
    ? 0
    : field.schema.kind === 'boolean'
      ? false
      : '';
}

function jsonText(value: unknown): string {
  return typeof value === 'bigint' ? String(value) : goJson(value);
}

/** Formats a path element as in messages: `.spec`, `[name="web"]`, `[="x"]`, `[3]`. */
export function formatElement(element: string): string {
  const content = element.slice(2);
  switch (element[0]) {
    case 'f':
      return `.${content}`;
    case 'k':
      return `[${Object.entries(parseExactJson(content) as object)
        .map(([name, value]) => `${name}=${formatKeyValue(value)}`)
        .join(',')}]`;
    case 'v':
      return `[=${formatKeyValue(parseExactJson(content))}]`;
    default:
      return `[${content}]`;
  }
}

const formatKeyValue = (value: unknown): string => (typeof value === 'string' ? goQuote(value) : JSON.stringify(value));

/** Formats a path: `.spec.containers[name="web"].image`. */
export function formatPath(path: readonly string[]): string {
  return path.map(formatElement).join('');
}

/**
 * Validates a client's `fieldsV1` and normalizes its elements, so that sets can be compared; returns the same object if
 * nothing changes. A string is the error.
 */
export function canonicalFieldSet(input: unknown, levels = 100): FieldSet | string {
  if (!isRecord(input)) return 'expected a map of fields';
  if (levels === 0) return 'fields are nested too deeply';
  const out = new FieldSetBuilder();
  let changed = false;
  for (const key of Object.keys(input)) {
    if (key === '.') {
      out.add(key, leaf);
      continue;
    }
    const element = canonicalElement(key);
    if (element === undefined) return `unknown path element ${goQuote(key)}`;
    const below = canonicalFieldSet(input[key], levels - 1);
    if (typeof below === 'string') return below;
    const node = hasOnlySelf(below) ? leaf : below;
    changed ||= element !== key || node !== input[key];
    out.add(element, node);
  }
  return changed ? (out.build() ?? leaf) : (input as FieldSet);
}

function hasOnlySelf(node: FieldSet): boolean {
  for (const element in node) if (element !== '.') return false;
  return true;
}

function canonicalElement(element: string): string | undefined {
  const content = element.slice(2);
  if (element[1] !== ':') return undefined;
  if (plainElement.test(element)) return element;
  switch (element[0]) {
    case 'f':
      return element;
    case 'i':
      return /^-?\d{1,15}$/.test(content) ? `i:${Number(content)}` : undefined;
    case 'v': {
      const value = tryParse(content);
      return value === undefined ? undefined : `v:${jsonText(value)}`;
    }
    case 'k': {
      const key = tryParse(content);
      if (!isRecord(key)) return undefined;
      return `k:{${Object.keys(key)
        .sort()
        .map((name) => `${JSON.stringify(name)}:${jsonText(key[name])}`)
        .join(',')}}`;
    }
    default:
      return undefined;
  }
}

function tryParse(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    return undefined;
  }
}

/** Returns a set of whole fields by their names: `status`, `metadata.labels`. */
export function fieldSetOfNames(names: readonly string[]): FieldSet | undefined {
  const out = new FieldSetBuilder();
  const below = new Map<string, string[]>();
  for (const name of names) {
    const dot = name.indexOf('.');
    const first = dot < 0 ? name : name.slice(0, dot);
    below.set(first, [...(below.get(first) ?? []), ...(dot < 0 ? [] : [name.slice(dot + 1)])]);
  }
  for (const [name, rest] of below) out.add(fieldElement(name), makeNode(names.includes(name), fieldSetOfNames(rest)));
  return out.build();
}
