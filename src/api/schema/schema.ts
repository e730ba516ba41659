/**
 * A schema describes each API type as data: its fields, their types and their protobuf numbers. The TypeScript type
 * (`Infer`), strict decoding with field paths, the protobuf decoder, OpenAPI and the parity table are derived from it.
 */
export type Schema =
  | StringSchema
  | NumberSchema
  | BooleanSchema
  | QuantitySchema
  | IntOrStringSchema
  | ArraySchema
  | MapSchema
  | ObjectSchema
  | OpaqueSchema;

export interface StringSchema {
  readonly kind: 'string';
  /** The allowed values. As in the API server, validation checks them, not decoding. */
  readonly values?: readonly string[];
  /** The OpenAPI documents do not list `values` as an enum, because upstream's type is not marked as one. */
  readonly open?: boolean;
  /** Times with six digits after the seconds (MicroTime of meta/v1). */
  readonly micros?: boolean;
  /** `bytes` is base64, `time` is RFC 3339, `duration` is Go's `1h2m3s`. */
  readonly format?: 'bytes' | 'time' | 'duration';
}
export interface NumberSchema {
  readonly kind: 'number';
  readonly format: 'int32' | 'int64' | 'double';
  /** An int64 whose values never exceed 2^53: it is decoded to a number. */
  readonly small?: boolean;
}
export interface BooleanSchema {
  readonly kind: 'boolean';
}
/** A resource quantity: a string such as `500m` or `1Gi`, or a bare number, kept as the canonical string. */
export interface QuantitySchema {
  readonly kind: 'quantity';
}
export interface IntOrStringSchema {
  readonly kind: 'intOrString';
}
export interface ArraySchema<Item extends Schema = Schema> {
  readonly kind: 'array';
  readonly items: Item;
  /**
   * The keys of a list of type `map`, such as `name` or `mountPath`: server-side apply owns and merges each element
   * separately.
   */
  readonly mergeKeys?: readonly string[];
  /** The values of merge keys that an element does not set, if they are not empty: `protocol` is TCP. */
  readonly keyDefaults?: Readonly<Record<string, string>>;
  /** The type of a list without merge keys: `atomic` (default) has one owner, `set` has one for each scalar. */
  readonly listType?: 'set' | 'atomic';
  /**
   * How a strategic merge patch treats the list, if not by the default: lists with `mergeKeys` are merged by the first
   * key, others are replaced. These are upstream's patchMergeKey and patchStrategy, which are older than list types and
   * sometimes disagree with them.
   */
  readonly patch?: 'replace' | 'merge' | { readonly key: string };
  /** Elements of a strategic merge patch may list the fields that are kept (patchStrategy retainKeys). */
  readonly retainKeys?: boolean;
  /** The list is written even if it is empty, as in custom kinds. */
  readonly keepsEmpty?: boolean;
}
export interface MapSchema<Value extends Schema = Schema> {
  readonly kind: 'map';
  readonly values: Value;
  /** One manager owns the whole map in server-side apply (x-kubernetes-map-type). */
  readonly atomic?: boolean;
  /** As for lists. */
  readonly keepsEmpty?: boolean;
}
export interface ObjectSchema<Fields extends FieldMap = FieldMap> {
  readonly kind: 'object';
  readonly name: string;
  readonly fields: Fields;
  /** The type of which this is a variant, and whose fields and documentation it shares. */
  readonly variantOf?: FieldMap;
  /** One manager owns the whole object in server-side apply (x-kubernetes-map-type). */
  readonly atomic?: boolean;
  /** A strategic merge patch may list the fields that are kept (patchStrategy retainKeys). */
  readonly retainKeys?: boolean;
  /** A strategic merge patch replaces it (patchStrategy replace). */
  readonly patch?: 'replace';
  /** For custom kinds: only fields that the client wrote exist, and unknown fields have the schema `rest`. */
  readonly custom?: { readonly rest?: Schema };
}
/** Any JSON value; it is stored unchanged. */
export interface OpaqueSchema {
  readonly kind: 'opaque';
  /** A set of fields as a tree (FieldsV1 of meta/v1). */
  readonly fieldSet?: boolean;
  /** Server-side apply owns and replaces it as a whole. */
  readonly atomic?: boolean;
  /** Free-form JSON in which duplicate keys are reported (Go's `interface{}`). */
  readonly plain?: boolean;
  /** Its protobuf format, if that is not the JSON as text. */
  readonly message?: OpaqueMessage;
}

/** A type with several forms in JSON and one message in protobuf: the message has a field for each form. */
export interface OpaqueMessage {
  /** The type may be recursive, so it is resolved when it is used. */
  readonly schema: ObjectSchema;
  /** Unknown and duplicate fields in it are dropped silently, as in a Go type with its own JSON decoder. */
  readonly isQuiet?: true;
  /** Recognises values that decoding returns unchanged. */
  readonly canonical?: CanonicalForm;
  /** Returns the schema for the JSON form of this value. */
  formOf(value: unknown): Schema;
  toMessage(value: unknown): object;
  fromMessage(message: Readonly<Record<string, unknown>>): unknown;
}

/** Values that consist only of known fields, with neither zero values nor null. They need no copy. */
export interface CanonicalForm {
  check(value: unknown): boolean;
  /** Whether `check` accepted this value before. */
  isKnown(value: unknown): boolean;
}

export interface Field<S extends Schema = Schema, Required extends boolean = boolean> {
  readonly schema: S;
  /** Always present after decoding: a missing field gets the empty value, which validation then rejects. */
  readonly required: Required;
  /** The documents of the API list it as required. */
  readonly mustBeWritten: boolean;
  /** Its protobuf number; absent for fields that clients only send as JSON. */
  readonly number?: number;
  /** Set if the field is nested in protobuf messages that JSON does not show: their numbers, the outermost first. */
  readonly within?: readonly number[];
  /** An empty string, zero or false is a value. Without this flag, such values are the encoding of absence in Go. */
  readonly keepsZero: boolean;
}
export type FieldMap = Readonly<Record<string, Field>>;

type InferFields<Fields extends FieldMap> = {
  -readonly [Key in keyof Fields as Fields[Key]['required'] extends true ? Key : never]: Infer<Fields[Key]['schema']>;
} & {
  -readonly [Key in keyof Fields as Fields[Key]['required'] extends true ? never : Key]?: Infer<Fields[Key]['schema']>;
};
type Flat<T> = { [Key in keyof T]: T[Key] };

/** The TypeScript type of the decoded value. */
export type Infer<S extends Schema> = S extends { readonly kind: 'string'; readonly values: readonly (infer Value)[] }
  ? Value
  : S extends StringSchema | QuantitySchema
    ? string
    : S extends NumberSchema
      ? S extends { readonly format: 'int64'; readonly small?: never }
        ? number | bigint
        : number
      : S extends BooleanSchema
        ? boolean
        : S extends IntOrStringSchema
          ? number | string
          : S extends ArraySchema<infer Item>
            ? Infer<Item>[]
            : S extends MapSchema<infer Value>
              ? Record<string, Infer<Value>>
              : S extends ObjectSchema<infer Fields>
                ? Flat<InferFields<Fields>>
                : unknown;

export const string = { kind: 'string' } as const;
export const bytes = { kind: 'string', format: 'bytes' } as const;
export const time = { kind: 'string', format: 'time' } as const;
export const microTime = { kind: 'string', format: 'time', micros: true } as const;
export const duration = { kind: 'string', format: 'duration' } as const;
export const int32 = { kind: 'number', format: 'int32' } as const;
/** Decoded exactly: a bigint where a number would lose digits (beyond 2^53). */
export const int64 = { kind: 'number', format: 'int64' } as const;
/** An int64 that the server counts, or that validation keeps far below 2^53: always decoded to a number. */
export const smallInt64 = { kind: 'number', format: 'int64', small: true } as const;
export const double = { kind: 'number', format: 'double' } as const;
export const boolean = { kind: 'boolean' } as const;
export const quantity = { kind: 'quantity' } as const;
export const intOrString = { kind: 'intOrString' } as const;
export const opaque = { kind: 'opaque' } as const;
/** An object of any kind in a field of a built-in kind (Go's `runtime.RawExtension`). */
export const rawExtension = { kind: 'opaque', atomic: true } as const;
export const fieldSet = { kind: 'opaque', fieldSet: true } as const;

export const oneOf = <const Values extends readonly string[]>(...values: Values) =>
  ({ kind: 'string', values }) as const;
/** Values that upstream's documents do not list as an enum, because its type has no `+enum` mark. */
export const knownValues = <const Values extends readonly string[]>(...values: Values) =>
  ({ kind: 'string', values, open: true }) as const;
export const array = <Item extends Schema>(
  items: Item,
  mergeKeys?: readonly string[],
  options: Pick<ArraySchema, 'listType' | 'patch' | 'retainKeys' | 'keyDefaults'> = {},
): ArraySchema<Item> => ({
  kind: 'array',
  items,
  mergeKeys,
  ...options,
});
/**
 * A list of scalars whose elements belong to the managers that set them; a strategic merge patch adds to it when
 * `patch` is `merge`.
 */
export const set = <Item extends Schema>(items: Item, patch: 'replace' | 'merge' = 'replace'): ArraySchema<Item> => ({
  kind: 'array',
  items,
  listType: 'set',
  patch,
});
/** An object or a map that one manager owns as a whole. */
export const atomic = <S extends ObjectSchema | MapSchema>(schema: S): S => ({ ...schema, atomic: true });
/** Undoes `atomic` for one field of a type that otherwise has one owner. */
export const granular = <S extends ObjectSchema | MapSchema>(schema: S): S => ({ ...schema, atomic: false });
/** An object for which a strategic merge patch may list the fields that are kept. */
export const retainKeys = <S extends ObjectSchema>(schema: S): S => ({ ...schema, retainKeys: true });
/** An object that a strategic merge patch replaces as a whole. */
export const replaced = <S extends ObjectSchema>(schema: S): S => ({ ...schema, patch: 'replace' });
export const map = <Value extends Schema>(values: Value): MapSchema<Value> => ({ kind: 'map', values });

export interface FieldOptions {
  /** The OpenAPI documents list the field as required, but decoding accepts its absence, and validation rejects it. */
  readonly mustBeWritten?: boolean;
}

/** An optional field. `number` is its protobuf number; a field without one is given as a bare schema. */
export const field = <S extends Schema>(number: number, schema: S, options: FieldOptions = {}): Field<S, false> => ({
  schema,
  required: false,
  mustBeWritten: options.mustBeWritten ?? false,
  number,
  keepsZero: false,
});

/**
 * An optional field that is a pointer in Go: an empty string, zero, false or an empty list differs from absence.
 * Objects and times need no such mark, because they have no zero value.
 */
export const pointer = <S extends Schema>(number: number, schema: S, options: FieldOptions = {}): Field<S, false> => ({
  ...field(number, schema, options),
  keepsZero: true,
});

/** A required field: always present after decoding, and listed as required in the documents. */
export function required<S extends Schema>(number: number, schema: S): Field<S, true>;
export function required<S extends Schema>(schema: S): Field<S, true>;
export function required<S extends Schema>(...args: NumberAndSchema<S>): Field<S, true> {
  return { ...present(args), mustBeWritten: true };
}

/** An optional field that is always present after decoding: in Go, a struct, or a string without `omitempty`. */
export function filled<S extends Schema>(number: number, schema: S): Field<S, true>;
export function filled<S extends Schema>(schema: S): Field<S, true>;
export function filled<S extends Schema>(...args: NumberAndSchema<S>): Field<S, true> {
  return { ...present(args), mustBeWritten: false };
}

type NumberAndSchema<S extends Schema> = readonly [number: number, schema: S] | readonly [schema: S];

function present<S extends Schema>(args: NumberAndSchema<S>): Omit<Field<S, true>, 'mustBeWritten'> {
  if (args.length === 1) return { schema: args[0], required: true, keepsZero: true };
  return { schema: args[1], required: true, keepsZero: true, number: args[0] };
}

/**
 * The fields of the message with this `number`; JSON shows them as fields of the outer type (`json:",inline"` in Go):
 * `...inline(2, { hostPath: field(1, HostPathVolumeSourceSchema) })`.
 */
export function inline<const Fields extends FieldMap>(number: number, fields: Fields): Fields {
  const moved = Object.entries(fields).map(([name, inner]) => [
    name,
    { ...inner, within: [number, ...(inner.within ?? [])] },
  ]);
  // The same fields by the same names.
  return Object.fromEntries(moved) as Fields;
}

/** An object type. Fields given as bare schemas are optional and have no number. */
export function object<const Fields extends Readonly<Record<string, Schema | Field>>>(
  name: string,
  fields: Fields,
): ObjectSchema<{
  readonly [Key in keyof Fields]: Fields[Key] extends Field
    ? Fields[Key]
    : Fields[Key] extends Schema
      ? Field<Fields[Key], false>
      : never;
}> {
  const normalised: Record<string, Field> = {};
  for (const [key, value] of Object.entries(fields))
    normalised[key] =
      'schema' in value ? value : { schema: value, required: false, mustBeWritten: false, keepsZero: false };
  // Filled key by key from `fields`; the compiler cannot verify this.
  return { kind: 'object', name, fields: normalised as never };
}
