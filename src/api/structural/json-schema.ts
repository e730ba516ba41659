/** JSONSchemaProps of apiextensions.k8s.io/v1, in their JSON form (upstream: types_jsonschema.go). */
import { isRecord } from '../../base/json-record.ts';
import { isCanonicalSchema } from './canonical-schema.ts';

export interface JsonSchema {
  readonly id?: string;
  readonly $schema?: string;
  readonly $ref?: string;
  readonly description?: string;
  readonly type?: string;
  readonly format?: string;
  readonly title?: string;
  readonly default?: unknown;
  readonly maximum?: number | bigint;
  readonly exclusiveMaximum?: boolean;
  readonly minimum?: number | bigint;
  readonly exclusiveMinimum?: boolean;
  readonly maxLength?: number;
  readonly minLength?: number;
  readonly pattern?: string;
  readonly maxItems?: number;
  readonly minItems?: number;
  readonly uniqueItems?: boolean;
  readonly multipleOf?: number | bigint;
  readonly enum?: readonly unknown[];
  readonly maxProperties?: number;
  readonly minProperties?: number;
  readonly required?: readonly string[];
  readonly items?: JsonSchema | readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly not?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>;
  readonly dependencies?: Readonly<Record<string, unknown>>;
  readonly additionalItems?: JsonSchema | boolean;
  readonly definitions?: Readonly<Record<string, JsonSchema>>;
  readonly externalDocs?: { readonly description?: string; readonly url?: string };
  readonly example?: unknown;
  readonly nullable?: boolean;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-embedded-resource'?: boolean;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-map-type'?: string;
  readonly 'x-kubernetes-validations'?: readonly ValidationRule[];
}

export interface ValidationRule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

/** The problems in the JSON of a schema. */
export interface SchemaProblem {
  readonly kind: 'wrongType' | 'unknownField';
  /** Starts with a dot: `.properties[spec].foo`. */
  readonly path: string;
  readonly message: string;
}

type Reader = (value: unknown, path: string, problems: SchemaProblem[]) => unknown;

const wrong = (path: string, problems: SchemaProblem[], expected: string): undefined =>
  void problems.push({ kind: 'wrongType', path, message: `expected ${expected}` });

/** Go omits zero values of fields that are not pointers. */
const text =
  (keepsEmpty: boolean): Reader =>
  (value, path, problems) =>
    typeof value !== 'string' ? wrong(path, problems, 'a string') : value === '' && !keepsEmpty ? undefined : value;
const flag =
  (keepsFalse: boolean): Reader =>
  (value, path, problems) =>
    typeof value !== 'boolean' ? wrong(path, problems, 'true or false') : value || keepsFalse ? value : undefined;
const numeric: Reader = (value, path, problems) =>
  typeof value === 'number' || typeof value === 'bigint' ? value : wrong(path, problems, 'a number');
const whole: Reader = (value, path, problems) =>
  typeof value === 'number' && Number.isInteger(value) ? value : wrong(path, problems, 'a whole number');
const any: Reader = (value) => value;
const list =
  (item: Reader): Reader =>
  (value, path, problems) => {
    if (!Array.isArray(value)) return wrong(path, problems, 'a list');
    return value.map((each: unknown, index) => item(each, `${path}[${index}]`, problems));
  };
const record =
  (item: Reader): Reader =>
  (value, path, problems) => {
    if (!isRecord(value)) return wrong(path, problems, 'an object');
    const entries = Object.keys(value).map((key) => [key, item(value[key], `${path}[${key}]`, problems)] as const);
    return Object.fromEntries(entries);
  };
const node: Reader = (value, path, problems) => readNode(value, path, problems);
const nodeOrFlag: Reader = (value, path, problems) =>
  typeof value === 'boolean' ? value : readNode(value, path, problems);
const nodeOrList: Reader = (value, path, problems) =>
  Array.isArray(value) ? list(node)(value, path, problems) : readNode(value, path, problems);
const fields =
  (known: Readonly<Record<string, Reader>>): Reader =>
  (value, path, problems) =>
    readFields(value, { known: new Map(Object.entries(known)), path, problems });

const readers: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ['id', text(false)],
  ['$schema', text(false)],
  ['$ref', text(true)],
  ['description', text(false)],
  ['type', text(false)],
  ['format', text(false)],
  ['title', text(false)],
  ['default', any],
  ['maximum', numeric],
  ['exclusiveMaximum', flag(false)],
  ['minimum', numeric],
  ['exclusiveMinimum', flag(false)],
  ['maxLength', whole],
  ['minLength', whole],
  ['pattern', text(false)],
  ['maxItems', whole],
  ['minItems', whole],
  ['uniqueItems', flag(false)],
  ['multipleOf', numeric],
  ['enum', list(any)],
  ['maxProperties', whole],
  ['minProperties', whole],
  ['required', list(text(true))],
  ['items', nodeOrList],
  ['allOf', list(node)],
  ['oneOf', list(node)],
  ['anyOf', list(node)],
  ['not', node],
  ['properties', record(node)],
  ['additionalProperties', nodeOrFlag],
  ['patternProperties', record(node)],
  ['dependencies', record(any)],
  ['additionalItems', nodeOrFlag],
  ['definitions', record(node)],
  ['externalDocs', fields({ description: text(false), url: text(false) })],
  ['example', any],
  ['nullable', flag(false)],
  ['x-kubernetes-preserve-unknown-fields', flag(true)],
  ['x-kubernetes-embedded-resource', flag(false)],
  ['x-kubernetes-int-or-string', flag(false)],
  ['x-kubernetes-list-map-keys', list(text(true))],
  ['x-kubernetes-list-type', text(true)],
  ['x-kubernetes-map-type', text(true)],
  [
    'x-kubernetes-validations',
    list(
      fields({
        rule: text(true),
        message: text(false),
        messageExpression: text(false),
        reason: text(true),
        fieldPath: text(false),
        optionalOldSelf: flag(true),
      }),
    ),
  ],
]);

interface Place {
  readonly known: ReadonlyMap<string, Reader>;
  readonly path: string;
  readonly problems: SchemaProblem[];
}

function readFields(value: unknown, { known, path, problems }: Place): unknown {
  if (!isRecord(value)) return wrong(path, problems, 'an object');
  const read: [string, unknown][] = [];
  for (const key of Object.keys(value)) {
    const reader = known.get(key);
    if (reader === undefined) problems.push({ kind: 'unknownField', path: `${path}.${key}`, message: 'unknown field' });
    else if (value[key] !== null) {
      const found = reader(value[key], `${path}.${key}`, problems);
      if (found !== undefined) read.push([key, found]);
    }
  }
  return Object.fromEntries(read);
}

const readNode = (value: unknown, path: string, problems: SchemaProblem[]): unknown =>
  readFields(value, { known: readers, path, problems });

interface ReadSchema {
  readonly schema: JsonSchema;
  readonly problems: readonly SchemaProblem[];
}

/**
 * A write reads its schema in several steps, so results are cached. Values are immutable, and a result lives as long as
 * its value.
 */
const alreadyRead = new WeakMap<object, ReadSchema>();

/**
 * Reads a schema from a JSON value without unknown fields, and collects problems. It takes linear time; the recursion
 * depth is that of the value.
 */
export function readJsonSchema(value: unknown): ReadSchema {
  const before = isRecord(value) ? alreadyRead.get(value) : undefined;
  if (before !== undefined) return before;
  if (isCanonicalSchema(value)) return { schema: value as JsonSchema, problems: [] };
  const problems: SchemaProblem[] = [];
  // The readers below set each field.
  const schema = (readNode(value, '', problems) ?? {}) as JsonSchema;
  const read = { schema, problems };
  if (isRecord(value)) alreadyRead.set(value, read);
  // What was read has neither unknown fields nor empty ones, so reading it again changes nothing.
  if (problems.every(({ kind }) => kind === 'unknownField')) alreadyRead.set(schema, { schema, problems: [] });
  return read;
}
