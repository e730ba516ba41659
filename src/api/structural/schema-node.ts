import { compilePattern } from '../../base/linear-pattern.ts';
import type { LinearPattern } from '../../base/linear-pattern.ts';
import { memoizeText } from '../../base/memoize-text.ts';
import { goJson } from '../go-json.ts';
import type { JsonSchema } from './json-schema.ts';

/**
 * A schema compiled for validation: names are in maps, patterns are compiled, enums are sets. The structural part and
 * the nested validations have the same form.
 */
export interface SchemaNode {
  /** '' when the schema has no type. */
  readonly type: string;
  /** The allowed types of a value: `integer` and `string` for int-or-string. Empty: any type. */
  readonly types: readonly string[];
  readonly nullable: boolean;
  readonly intOrString: boolean;
  readonly preserves: boolean;
  readonly embedded: boolean;
  readonly properties: ReadonlyMap<string, SchemaNode>;
  /** The schema of fields that are not listed; true: any value. */
  readonly additional: SchemaNode | boolean | undefined;
  readonly items: SchemaNode | undefined;
  readonly hasDefault: boolean;
  readonly listType: string | undefined;
  readonly listMapKeys: readonly string[];
  readonly mapType: string | undefined;
  readonly pattern: LinearPattern | undefined;
  /** The allowed values as canonical JSON. */
  readonly allowed: ReadonlySet<string> | undefined;
  readonly allOf: readonly SchemaNode[];
  readonly anyOf: readonly SchemaNode[];
  readonly oneOf: readonly SchemaNode[];
  readonly not: SchemaNode | undefined;
  /** All other keywords are read from this schema. */
  readonly json: JsonSchema;
}

const isList = (items: JsonSchema['items']): items is readonly JsonSchema[] => Array.isArray(items);

const PATTERNS_LIMIT = 256;
const LONGEST_SHARED = 1024;
/** Definitions repeat a few patterns: names, durations, quantities. */
const sharedPattern = memoizeText((pattern) => compilePattern(pattern), {
  limit: PATTERNS_LIMIT,
  longest: LONGEST_SHARED,
});

function validPattern(pattern: string): LinearPattern | undefined {
  const compiled = sharedPattern(pattern);
  return typeof compiled === 'string' ? undefined : compiled;
}

/** Invalid patterns are ignored: validation refused such a schema before. */
export function compileSchema(json: JsonSchema): SchemaNode {
  const { type = '', items, additionalProperties, pattern, not } = json;
  let compiled: LinearPattern | undefined;
  const intOrString = json['x-kubernetes-int-or-string'] === true;
  return {
    json,
    type,
    types: intOrString ? ['integer', 'string'] : type === '' ? [] : [type],
    nullable: json.nullable === true,
    intOrString,
    preserves: json['x-kubernetes-preserve-unknown-fields'] === true,
    embedded: json['x-kubernetes-embedded-resource'] === true,
    properties: new Map(Object.entries(json.properties ?? {}).map(([name, each]) => [name, compileSchema(each)])),
    additional: typeof additionalProperties === 'object' ? compileSchema(additionalProperties) : additionalProperties,
    items: items === undefined || isList(items) ? undefined : compileSchema(items),
    hasDefault: json.default !== undefined,
    listType: json['x-kubernetes-list-type'],
    listMapKeys: json['x-kubernetes-list-map-keys'] ?? [],
    mapType: json['x-kubernetes-map-type'],
    // Compiled at its first use: programs are large, and most values are never written.
    get pattern() {
      return pattern === undefined ? undefined : (compiled ??= validPattern(pattern));
    },
    allowed: json.enum === undefined ? undefined : new Set(json.enum.map(canonicalJson)),
    allOf: (json.allOf ?? []).map(compileSchema),
    anyOf: (json.anyOf ?? []).map(compileSchema),
    oneOf: (json.oneOf ?? []).map(compileSchema),
    not: not === undefined ? undefined : compileSchema(not),
  };
}

/** A text that is the same for equal values, whatever the order of their fields. */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return goJson(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const fields = value as Readonly<Record<string, unknown>>;
  return `{${Object.keys(fields)
    .sort()
    .map((key) => `${goJson(key)}:${canonicalJson(fields[key])}`)
    .join(',')}}`;
}

/** The schema of the field with this name; undefined for an unknown field. */
export function fieldNode(node: SchemaNode, name: string): SchemaNode | undefined {
  return node.properties.get(name) ?? (typeof node.additional === 'object' ? node.additional : undefined);
}
