import { isRecord } from '../../base/json-record.ts';
import { decodeBase64 } from '../../cel/library/encoders.ts';
import type { Adapt, JsonField } from '../../cel/json-values.ts';
import { fromJson, JsonList, JsonMap, JsonObject } from '../../cel/json-values.ts';
import { parseDuration, parseTimestamp } from '../../cel/time/formats.ts';
import type { CelType } from '../../cel/types.ts';
import { boolType, doubleType, intType } from '../../cel/types.ts';
import { escapeName, selectedName } from './escape-name.ts';
import { REQUEST_LIMIT_BYTES } from './limits.ts';
import { MergedList, SetList } from './schema-lists.ts';
import { doubleAdapt, textAdapt } from './typed-values.ts';

/** The members of a JSON schema that expressions depend on. */
export interface RuleSchema {
  readonly type?: string;
  readonly format?: string;
  readonly nullable?: boolean;
  readonly properties?: Readonly<Record<string, RuleSchema>>;
  readonly additionalProperties?: RuleSchema | boolean;
  readonly items?: RuleSchema;
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly default?: unknown;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-embedded-resource'?: boolean;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
}

/** The type of a schema in expressions. */
export interface SchemaType {
  readonly type: CelType;
  /** Converts a document that matches the schema to a CEL value. */
  readonly adapt: Adapt;
  /** The minimum JSON size of a value in bytes, which limits their number in a request. */
  readonly leastBytes: number;
}

const TEXT_LIMIT = REQUEST_LIMIT_BYTES - 2;

/**
 * Returns the type of the values of a schema; undefined if expressions cannot access them (upstream:
 * cel/common/schemas.go SchemaDeclType). `isRoot`: kind, apiVersion and the names of metadata can always be read.
 */
export function schemaType(schema: RuleSchema, isRoot: boolean, name = 'object'): SchemaType | undefined {
  if (schema['x-kubernetes-int-or-string'] === true) {
    const most = schema.maxLength === undefined ? TEXT_LIMIT : schema.maxLength * 4;
    return { type: { kind: 'dyn', most }, adapt: fromJson, leastBytes: 1 };
  }
  const found = isRoot ? objectSchema(withResourceFields(schema), name) : plainSchema(schema, name);
  return found && schema.nullable === true ? { ...found, adapt: orNull(found.adapt) } : found;
}

const orNull =
  (adapt: Adapt): Adapt =>
  (raw) =>
    raw === null ? null : adapt(raw);

function plainSchema(schema: RuleSchema, name: string): SchemaType | undefined {
  switch (schema.type) {
    case 'array':
      return listSchema(schema, name);
    case 'object':
      return typeof schema.additionalProperties === 'object'
        ? mapSchema(schema, schema.additionalProperties, name)
        : objectSchema(schema, name);
    case 'string':
      return textSchema(schema);
    case 'boolean':
      return { type: boolType, adapt: fromJson, leastBytes: 4 };
    case 'number':
      return { type: doubleType, adapt: doubleAdapt, leastBytes: 1 };
    case 'integer':
      return { type: intType, adapt: fromJson, leastBytes: 1 };
    default:
      return undefined;
  }
}

const partType = (schema: RuleSchema, name: string): SchemaType | undefined =>
  schemaType(schema, schema['x-kubernetes-embedded-resource'] === true, name);

function listSchema(schema: RuleSchema, name: string): SchemaType | undefined {
  const item = schema.items && partType(schema.items, `${name}.@idx`);
  if (item === undefined) return undefined;
  const most = Math.max(0, schema.maxItems ?? Math.floor(TEXT_LIMIT / (item.leastBytes + 1)));
  return {
    type: { kind: 'list', element: item.type, most },
    adapt: (raw) => (Array.isArray(raw) ? listValue(schema, raw, item.adapt) : fromJson(raw)),
    leastBytes: 2,
  };
}

function listValue(schema: RuleSchema, raw: readonly unknown[], adapt: Adapt): JsonList {
  const { 'x-kubernetes-list-type': kind, 'x-kubernetes-list-map-keys': keys = [] } = schema;
  if (kind === 'set') return new SetList(raw, adapt);
  return kind === 'map' ? new MergedList(raw, adapt, keys) : new JsonList(raw, adapt);
}

function mapSchema(schema: RuleSchema, values: RuleSchema, name: string): SchemaType | undefined {
  const value = partType(values, `${name}.@elem`);
  if (value === undefined) return undefined;
  const most = Math.max(0, schema.maxProperties ?? Math.floor(TEXT_LIMIT / (value.leastBytes + 6)));
  return {
    // Keys have no declared length, and upstream's estimate assumes length zero (upstream: cel compilation.go
    // EstimateSize).
    type: { kind: 'map', key: { kind: 'string', most: 0 }, value: value.type, most },
    adapt: (raw) => (isRecord(raw) ? new JsonMap(raw, value.adapt) : fromJson(raw)),
    leastBytes: 2,
  };
}

function objectSchema(schema: RuleSchema, name: string): SchemaType {
  const types = new Map<string, CelType>();
  const fields = new Map<string, JsonField>();
  const required = new Set(schema.required);
  let leastBytes = 2;
  for (const [property, part] of Object.entries(schema.properties ?? {})) {
    const found = partType(part, `${name}.${property}`);
    if (found === undefined) continue;
    const escaped = escapeName(property);
    if (escaped !== undefined) {
      types.set(escaped, found.type);
      fields.set(escaped, { name: property, adapt: found.adapt });
    }
    if (required.has(property) && part.default === undefined) leastBytes += property.length + found.leastBytes + 4;
  }
  const type: CelType = { kind: 'object', name, field: (field) => types.get(selectedName(field)) };
  const field = (name: string): JsonField | undefined => fields.get(selectedName(name));
  return { type, adapt: (raw) => (isRecord(raw) ? new JsonObject(raw, field, name) : fromJson(raw)), leastBytes };
}

/** The maximum and minimum JSON size of strings with a format. */
const timeBytes = { 'date-time': [32, 21], date: [12, 12], duration: [32, 3] } as const;

function textSchema(schema: RuleSchema): SchemaType {
  const { format, maxLength } = schema;
  if (format === 'date-time' || format === 'date' || format === 'duration') {
    const [most, leastBytes] = timeBytes[format];
    const parse = format === 'duration' ? parseDuration : format === 'date' ? parseDate : parseTimestamp;
    return {
      type: { kind: format === 'duration' ? 'duration' : 'timestamp', most },
      adapt: textAdapt(parse),
      leastBytes,
    };
  }
  if (format === 'byte') {
    const bytes: Adapt = (raw) => (typeof raw === 'string' ? (decodeBase64(raw) ?? raw) : fromJson(raw));
    return { type: { kind: 'bytes', most: maxLength ?? TEXT_LIMIT }, adapt: bytes, leastBytes: 2 };
  }
  return { type: { kind: 'string', most: longestText(schema) }, adapt: fromJson, leastBytes: 2 };
}

function longestText({ maxLength, enum: values }: RuleSchema): number {
  if (maxLength !== undefined) return Math.max(0, maxLength) * 4;
  if (values === undefined || values.length === 0) return TEXT_LIMIT;
  return values.reduce<number>((most, value) => (typeof value === 'string' ? Math.max(most, value.length) : most), 0);
}

const parseDate = (text: string): ReturnType<typeof parseTimestamp> => parseTimestamp(`${text}T00:00:00Z`);

const text: RuleSchema = { type: 'string' };

function withResourceFields(schema: RuleSchema): RuleSchema {
  const { properties = {} } = schema;
  const names = properties['metadata']?.properties;
  const isWhole =
    properties['kind']?.type === 'string' &&
    properties['apiVersion']?.type === 'string' &&
    names?.['name']?.type === 'string' &&
    names['generateName']?.type === 'string';
  if (isWhole) return schema;
  const metadata: RuleSchema = { type: 'object', properties: { name: text, generateName: text } };
  return { ...schema, properties: { ...properties, kind: text, apiVersion: text, metadata } };
}

/** Returns the maximum number of elements, properties or characters of a value; undefined for scalars. */
export function estimateMostElements(schema: RuleSchema): number | undefined {
  const type = schemaType(schema, false)?.type;
  return type !== undefined && 'most' in type ? type.most : undefined;
}
