import { isRecord } from '../../base/json-record.ts';
import { exactly } from '../../base/exact-json.ts';
import { parseDurationNanos } from '../duration.ts';
import { formatQuantity, tryParseQuantity } from '../quantity.ts';
import { closestName } from './closest-name.ts';
import { formatFieldPath } from './field-path.ts';
import type { FieldPath, PathStep } from './field-path.ts';
import type {
  ArraySchema,
  Infer,
  MapSchema,
  NumberSchema,
  ObjectSchema,
  OpaqueMessage,
  Schema,
  StringSchema,
} from './schema.ts';

export type DecodeProblem =
  | 'unknownField'
  | 'duplicateField'
  | 'wrongType'
  | 'outOfRange'
  | 'badFormat'
  | 'tooDeep'
  | 'tooMany'
  | 'tooManyValues';
export interface DecodeError {
  readonly problem: DecodeProblem;
  readonly path: FieldPath;
  /**
   * The problem, without the path for `wrongType` and similar kinds. Unknown and duplicate fields have upstream's
   * format.
   */
  readonly message: string;
}
export interface DecodeOptions {
  /** `lenient` turns unknown fields into warnings; wrong types are errors in both. */
  readonly mode?: 'strict' | 'lenient';
  /** The position of the value in the document, with which the paths start. */
  readonly at?: FieldPath;
  /** Levels of nesting below the value. Default 64. */
  readonly maxDepth?: number;
  /** After this many errors, decoding stops; warnings beyond this number are dropped. Default 100. */
  readonly maxProblems?: number;
  /**
   * The limit for checked values. Default: no limit. Values that take long to check count more: an object by the fields
   * that it may have, because each is looked up, and a quantity, because it is parsed.
   */
  readonly maxValues?: number;
  /** Leaves values out of the messages, for secrets. */
  readonly hideValues?: boolean;
  /** Leaves out suggestions for misspelled names, for answers that programs read. */
  readonly noHints?: boolean;
}
export interface Decoded<Value> {
  /** Complete even if there are errors: wrong values are left out or empty. Must only be used if `errors` is empty. */
  readonly value: Value;
  readonly errors: readonly DecodeError[];
  readonly warnings: readonly DecodeError[];
}

/**
 * Checks a JSON value against a schema and copies the valid parts. Never throws. Null counts as absent, missing
 * required fields get their empty value, and quantities become canonical (upstream: apimachinery serializer/json). The
 * type of the value follows from the schema; the cast goes through `unknown`, because the compiler would expand all
 * schemas to compare the two types.
 */
export const decode = decodeAny as unknown as <S extends Schema>(
  schema: S,
  input: unknown,
  options?: DecodeOptions,
) => Decoded<Infer<S>>;

/** Like `decode`, for a schema that is not known at compile time. */
export function decodeAny(schema: Schema, input: unknown, options: DecodeOptions = {}): Decoded<unknown> {
  const decoder = new Decoder(options);
  const value = decoder.run(schema, input);
  return { value, errors: decoder.errors, warnings: decoder.warnings };
}

/** One line for one problem: `spec.hostNetwork: expected true or false, found the string "yes"`. */
export function formatDecodeError(error: DecodeError): string {
  const named = error.problem === 'unknownField' || error.problem === 'duplicateField' || error.path.length === 0;
  return named ? error.message : `${formatFieldPath(error.path)}: ${error.message}`;
}

/** All problems in the API server's format for strict decoding. */
export function formatStrictErrors(errors: readonly DecodeError[]): string {
  return `strict decoding error: ${errors.map(formatDecodeError).join(', ')}`;
}

const INT32_MAX = 2_147_483_647;
const INT64_MAX = 2n ** 63n - 1n;
const base64 = /^[A-Za-z0-9+/]*={0,2}$/;
const rfc3339 = /^\d{4}-(\d{2})-(\d{2})T(\d{2}):\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;
const SHOWN_LENGTH = 60;

class Decoder {
  readonly errors: DecodeError[] = [];
  readonly warnings: DecodeError[] = [];
  readonly #path: PathStep[];
  readonly #base: number;
  readonly #options: DecodeOptions;
  #maxDepth: number;
  readonly #maxProblems: number;
  readonly #maxValues: number;
  #values = 0;
  #isQuiet = false;

  constructor(options: DecodeOptions) {
    this.#options = options;
    this.#path = [...(options.at ?? [])];
    this.#base = this.#path.length;
    this.#maxDepth = options.maxDepth ?? 64;
    this.#maxProblems = options.maxProblems ?? 100;
    this.#maxValues = options.maxValues ?? Number.POSITIVE_INFINITY;
  }

  run(schema: Schema, input: unknown): unknown {
    this.#values++;
    if (this.#path.length - this.#base > this.#maxDepth)
      return this.#fail('tooDeep', `nested deeper than ${this.#maxDepth} levels`, schema);
    // null in a list of numbers would be read as 0, as upstream does. In a list of groups 0 means root.
    if (input === null && schema.kind === 'number' && typeof this.#path.at(-1) === 'number')
      return this.#wrongType(schema, input);
    if (input === null || input === undefined) return emptyValue(schema);
    switch (schema.kind) {
      case 'string':
        return this.#string(schema, input);
      case 'number':
        return this.#number(schema, input);
      case 'boolean':
        return typeof input === 'boolean' ? input : this.#wrongType(schema, input);
      case 'quantity':
        return this.#quantity(schema, input);
      case 'intOrString':
        if (typeof input === 'string') return input;
        return typeof input === 'number' || typeof input === 'bigint'
          ? this.#number({ kind: 'number', format: 'int32' }, input)
          : this.#wrongType(schema, input);
      case 'array':
        return this.#array(schema, input);
      case 'map':
        return this.#map(schema, input);
      case 'object':
        return this.#object(schema, input);
      case 'opaque':
        return schema.message === undefined ? input : this.#recursive(schema.message, input);
    }
  }

  /** A recursive type: its depth and number of values are limited for the whole body. */
  #recursive(message: OpaqueMessage, input: unknown): unknown {
    // Only the outermost value is checked, so that each part is checked once.
    const isOutermost = this.#maxDepth !== Number.POSITIVE_INFINITY;
    if (isOutermost && message.canonical?.check(input) === true) return input;
    const [maxDepth, values, isQuiet] = [this.#maxDepth, this.#values, this.#isQuiet];
    this.#isQuiet ||= message.isQuiet === true;
    this.#maxDepth = Number.POSITIVE_INFINITY;
    this.#values = Number.NEGATIVE_INFINITY;
    const decoded = this.run(message.formOf(input), input);
    this.#maxDepth = maxDepth;
    this.#values = values;
    this.#isQuiet = isQuiet;
    return decoded;
  }

  #string(schema: StringSchema, input: unknown): unknown {
    if (typeof input !== 'string') return this.#wrongType(schema, input);
    switch (schema.format) {
      case undefined:
        return input;
      case 'bytes': {
        const compact = input.replace(/[\r\n]/g, '');
        return compact.length % 4 === 0 && base64.test(compact)
          ? compact
          : this.#fail('badFormat', `expected base64 text, found ${this.#describe(input)}`, schema);
      }
      case 'time':
        return isTime(input)
          ? input
          : this.#fail(
              'badFormat',
              `expected a time such as 2026-01-31T12:00:00Z, found ${this.#describe(input)}`,
              schema,
            );
      case 'duration':
        return parseDurationNanos(input) !== undefined
          ? input
          : this.#fail('badFormat', `expected a duration such as 1m30s, found ${this.#describe(input)}`, schema);
    }
  }

  #number(schema: NumberSchema, input: unknown): unknown {
    if (typeof input !== 'number' && typeof input !== 'bigint') return this.#wrongType(schema, input);
    if (schema.format === 'double') return Number(input);
    if (typeof input === 'number' && !Number.isInteger(input)) return this.#wrongType(schema, input);
    const inRange =
      schema.format === 'int32'
        ? input >= -INT32_MAX - 1 && input <= INT32_MAX
        : BigInt(input) >= -INT64_MAX - 1n && BigInt(input) <= INT64_MAX;
    if (inRange)
      return schema.small === true || schema.format === 'int32' ? Number(input) : (exactly(BigInt(input)) ?? input);
    const range =
      schema.format === 'int32' ? '-2147483648 to 2147483647' : '-9223372036854775808 to 9223372036854775807';
    return this.#fail(
      'outOfRange',
      `${this.#options.hideValues === true ? 'the number' : String(input)} does not fit; accepted is ${range}`,
      schema,
    );
  }

  #quantity(schema: Schema, input: unknown): unknown {
    this.#values += QUANTITY_VALUES - 1;
    if (typeof input !== 'string' && typeof input !== 'number' && typeof input !== 'bigint')
      return this.#wrongType(schema, input);
    const parsed = tryParseQuantity(String(input).trim());
    if (typeof parsed !== 'string') return formatQuantity(parsed);
    return this.#fail(
      'badFormat',
      `expected a quantity such as 500m, 1.5 or 64Mi, found ${this.#describe(input)}: ${parsed}`,
      schema,
    );
  }

  #array(schema: ArraySchema, input: unknown): unknown[] {
    if (!Array.isArray(input)) return this.#wrongType(schema, input) as unknown[];
    const items: unknown[] = [];
    for (let index = 0; index < input.length && !this.#full(); index++)
      items.push(this.#child(index, schema.items, input[index]));
    return items;
  }

  #map(schema: MapSchema, input: unknown): Record<string, unknown> {
    if (!isRecord(input)) return this.#wrongType(schema, input) as Record<string, unknown>;
    const entries: Record<string, unknown> = {};
    for (const key of Object.keys(input)) {
      if (this.#full()) break;
      setOwn(entries, key, this.#child({ key }, schema.values, input[key]));
    }
    return entries;
  }

  #object(schema: ObjectSchema, input: unknown): Record<string, unknown> {
    this.#values += moreValues(schema);
    if (!isRecord(input)) return this.#wrongType(schema, input) as Record<string, unknown>;
    const decoded: Record<string, unknown> = {};
    for (const key of Object.keys(input)) {
      if (this.#full()) break;
      const field = Object.hasOwn(schema.fields, key) ? schema.fields[key] : undefined;
      if (field === undefined) this.#unknownField(schema, key);
      else if (input[key] !== null && input[key] !== undefined)
        decoded[key] = this.#child(key, field.schema, input[key]);
    }
    for (const key of requiredFields(schema)) {
      const field = schema.fields[key];
      if (field !== undefined && decoded[key] === undefined) decoded[key] = emptyValue(field.schema);
    }
    return decoded;
  }

  #child(step: PathStep, schema: Schema, input: unknown): unknown {
    this.#path.push(step);
    const value = this.run(schema, input);
    this.#path.pop();
    return value;
  }

  #unknownField(schema: ObjectSchema, key: string): void {
    if (this.#isQuiet) return;
    const lenient = this.#options.mode === 'lenient';
    // Further warnings are dropped; the value is valid without them.
    if (lenient && this.warnings.length >= this.#maxProblems) return;
    const path = [...this.#path, key];
    const near = this.#options.noHints === true ? undefined : closestName(key, Object.keys(schema.fields));
    const hint = near === undefined ? '' : `; did you mean "${near}"?`;
    const error: DecodeError = {
      problem: 'unknownField',
      path,
      message: `unknown field ${quote(formatFieldPath(path.map(nameOf)))}${hint}`,
    };
    if (lenient) this.warnings.push(error);
    else this.errors.push(error);
  }

  #wrongType(schema: Schema, input: unknown): unknown {
    const hint =
      schema.kind === 'string' && (typeof input === 'number' || typeof input === 'boolean') ? '; put it in quotes' : '';
    return this.#fail('wrongType', `expected ${expectation(schema)}, found ${this.#describe(input)}${hint}`, schema);
  }

  #describe(input: unknown): string {
    return this.#options.hideValues === true ? describeType(input) : describe(input);
  }

  #fail(problem: DecodeProblem, message: string, schema: Schema): unknown {
    this.errors.push({ problem, path: [...this.#path], message });
    return emptyValue(schema);
  }

  #full(): boolean {
    if (this.#values > this.#maxValues) return this.#stop('tooManyValues', `more than ${this.#maxValues} values`);
    if (this.errors.length < this.#maxProblems) return false;
    return this.#stop('tooMany', `more than ${this.#maxProblems} problems; the rest was not checked`);
  }

  #stop(problem: 'tooMany' | 'tooManyValues', message: string): true {
    if (this.errors.at(-1)?.problem !== problem) this.errors.push({ problem, path: [...this.#path], message });
    return true;
  }
}

const QUANTITY_VALUES = 3;
const FIELDS_OF_ONE_VALUE = 8;
const moreValuesCache = new WeakMap<ObjectSchema, number>();

function moreValues(schema: ObjectSchema): number {
  let more = moreValuesCache.get(schema);
  if (more === undefined)
    moreValuesCache.set(schema, (more = Math.floor(Object.keys(schema.fields).length / FIELDS_OF_ONE_VALUE)));
  return more;
}

const requiredCache = new WeakMap<ObjectSchema, readonly string[]>();

function requiredFields(schema: ObjectSchema): readonly string[] {
  let names = requiredCache.get(schema);
  if (names === undefined) {
    names = Object.keys(schema.fields).filter((key) => schema.fields[key]?.required === true);
    requiredCache.set(schema, names);
  }
  return names;
}

/** The zero value of a field in Go. For a time it is null in JSON. */
function emptyValue(schema: Schema): unknown {
  switch (schema.kind) {
    case 'string':
      return schema.format === 'time' ? null : '';
    case 'number':
    case 'intOrString':
      return 0;
    case 'boolean':
      return false;
    case 'quantity':
      return '0';
    case 'array':
      return [];
    case 'map':
      return {};
    case 'object':
      return Object.fromEntries(
        requiredFields(schema).map((key) => [key, emptyValue(schema.fields[key]?.schema ?? { kind: 'opaque' })]),
      );
    case 'opaque':
      return null;
  }
}

function expectation(schema: Schema): string {
  switch (schema.kind) {
    case 'string':
      return schema.values === undefined
        ? 'a string'
        : `a string (${schema.values.slice(0, 8).map(quote).join(', ')}${schema.values.length > 8 ? ', ...' : ''})`;
    case 'number':
      return schema.format === 'double' ? 'a number' : 'a whole number';
    case 'boolean':
      return 'true or false';
    case 'quantity':
      return 'a quantity such as 500m, 1.5 or 64Mi';
    case 'intOrString':
      return 'a whole number or a string';
    case 'array':
      return 'a list';
    case 'map':
      return 'a map of names to values';
    case 'object':
      return `an object (${schema.name})`;
    case 'opaque':
      return 'any value';
  }
}

function describe(input: unknown): string {
  if (Array.isArray(input)) return 'a list';
  switch (typeof input) {
    case 'string':
      return `the string ${quote(input.length > SHOWN_LENGTH ? `${input.slice(0, SHOWN_LENGTH)}...` : input)}`;
    case 'number':
    case 'bigint':
      return `the number ${String(input)}`;
    case 'boolean':
      return String(input);
    case 'object':
      return input === null ? 'null' : 'an object';
    default:
      return `a ${typeof input}`;
  }
}

function describeType(input: unknown): string {
  if (Array.isArray(input)) return 'a list';
  return input === null ? 'null' : typeof input === 'object' ? 'an object' : `a ${typeof input}`;
}

/** Whether a text is a time as RFC 3339 writes it. */
export function isTime(text: string): boolean {
  return rfc3339.test(text) && !Number.isNaN(Date.parse(text));
}

/** Sets an own property. A plain assignment to `__proto__` would replace the prototype. */
export function setOwn(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
  else target[key] = value;
}

/** Map keys are formatted like fields here (upstream: sigs.k8s.io/json appendStrictFieldStackKey). */
const nameOf = (step: PathStep): PathStep => (typeof step === 'object' ? step.key : step);

const quote = (text: string): string => JSON.stringify(text);
