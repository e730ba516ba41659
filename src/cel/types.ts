/** The types of the Common Expression Language, as the checker sees them. */
export type CelType =
  | { readonly kind: ScalarKind; readonly most?: number }
  | { readonly kind: 'list'; readonly element: CelType; readonly most?: number }
  | { readonly kind: 'map'; readonly key: CelType; readonly value: CelType; readonly most?: number }
  | { readonly kind: 'type'; readonly of: CelType | undefined }
  | { readonly kind: 'opaque'; readonly name: string; readonly parameters: readonly CelType[] }
  | ObjectType
  | { readonly kind: 'param'; readonly name: string };

type ScalarKind =
  | 'dyn'
  | 'error'
  | 'null'
  | 'bool'
  | 'int'
  | 'uint'
  | 'double'
  | 'string'
  | 'bytes'
  | 'duration'
  | 'timestamp';

/**
 * A type with declared fields. `field` returns undefined for other names. (`most`, of the other types: the largest
 * number of elements, characters or bytes of a declared variable.)
 */
export interface ObjectType {
  readonly kind: 'object';
  readonly name: string;
  readonly field: (name: string) => CelType | undefined;
}

export const dynType: CelType = { kind: 'dyn' };
export const errorType: CelType = { kind: 'error' };
export const nullType: CelType = { kind: 'null' };
export const boolType: CelType = { kind: 'bool' };
export const intType: CelType = { kind: 'int' };
export const uintType: CelType = { kind: 'uint' };
export const doubleType: CelType = { kind: 'double' };
export const stringType: CelType = { kind: 'string' };
export const bytesType: CelType = { kind: 'bytes' };
export const durationType: CelType = { kind: 'duration' };
export const timestampType: CelType = { kind: 'timestamp' };

export const listOf = (element: CelType): CelType => ({ kind: 'list', element });
export const mapOf = (key: CelType, value: CelType): CelType => ({ kind: 'map', key, value });
export const typeOf = (of: CelType | undefined): CelType => ({ kind: 'type', of });
export const param = (name: string): CelType => ({ kind: 'param', name });
export const opaque = (name: string, ...parameters: CelType[]): CelType => ({ kind: 'opaque', name, parameters });
export const optionalOf = (value: CelType): CelType => opaque('optional_type', value);

/** An object type with a fixed set of fields. */
export function objectType(name: string, fields: Readonly<Record<string, CelType>>): ObjectType {
  const table = new Map(Object.entries(fields));
  return { kind: 'object', name, field: (field) => table.get(field) };
}

export const isOptional = (type: CelType): type is Extract<CelType, { kind: 'opaque' }> =>
  type.kind === 'opaque' && type.name === 'optional_type';

export const isDynamic = (type: CelType): boolean => type.kind === 'dyn' || type.kind === 'error';

const shownScalars = new Map<string, string>([
  ['duration', 'google.protobuf.Duration'],
  ['timestamp', 'google.protobuf.Timestamp'],
  ['error', '!error!'],
]);

/** The name of the type in error messages (upstream: checker/format.go FormatCELType). */
export function formatType(type: CelType): string {
  switch (type.kind) {
    case 'list':
      return `list(${formatType(type.element)})`;
    case 'map':
      return `map(${formatType(type.key)}, ${formatType(type.value)})`;
    case 'type':
      return type.of === undefined ? 'type' : `type(${formatType(type.of)})`;
    case 'opaque':
      return type.parameters.length === 0 ? type.name : `${type.name}(${type.parameters.map(formatType).join(', ')})`;
    case 'object':
    case 'param':
      return type.name;
    default:
      return shownScalars.get(type.kind) ?? type.kind;
  }
}

/** The name of the type of a value, as `type(x)` returns it. */
export function typeName(type: CelType): string {
  switch (type.kind) {
    case 'list':
    case 'map':
    case 'type':
      return type.kind;
    case 'opaque':
    case 'object':
    case 'param':
      return type.name;
    case 'null':
      return 'null_type';
    default:
      return shownScalars.get(type.kind) ?? type.kind;
  }
}
