// Bodies of any size with one fault: each list, map, string and free-form value of a schema is filled with a large
// number of values.
import { measureJson } from '../../../src/api/measure-json.ts';
import type { ObjectSchema, Schema } from '../../../src/api/schema/schema.ts';

export interface Place {
  readonly path: readonly (string | number)[];
  readonly schema: Schema;
  readonly field: string;
}

/** A value for a place, by its size: the number of elements, keys or characters. */
export interface Shape {
  readonly name: string;
  readonly make: (size: number) => unknown;
}

type Likeness = 'distinct' | 'identical' | 'prefix' | 'rich';
const prefix = 'a'.repeat(40);
const deepest = 5;

/** The places of a kind that are not in `seen`: parts that many kinds have (metadata, pod templates) are tried once. */
export function placesOf(root: ObjectSchema, seen: Map<ObjectSchema, Set<string>>): readonly Place[] {
  const places: Place[] = [];
  const open = new Set<ObjectSchema>();
  const visit = (schema: Schema, path: Place['path'], field: string, isNew: boolean): void => {
    if (schema.kind === 'object') return walk(schema, path);
    if (isNew && schema.kind !== 'number' && schema.kind !== 'boolean') places.push({ path, schema, field });
    if (schema.kind === 'array') visit(schema.items, [...path, 0], field, isNew);
    if (schema.kind === 'map') visit(schema.values, [...path, 'key'], field, isNew);
  };
  const walk = (schema: ObjectSchema, path: Place['path']): void => {
    if (open.has(schema)) return;
    open.add(schema);
    const known = seen.get(schema) ?? new Set<string>();
    seen.set(schema, known);
    for (const [field, { schema: inner }] of Object.entries(schema.fields)) {
      if (path.length === 0 && (field === 'kind' || field === 'apiVersion')) continue;
      const isNew = !known.has(field);
      known.add(field);
      visit(inner, [...path, field], field, isNew);
    }
    open.delete(schema);
  };
  walk(root, []);
  return places;
}

function valueOf(schema: Schema, field: string, index: number, likeness: Likeness, depth = 0): unknown {
  const number = likeness === 'identical' ? 0 : index;
  switch (schema.kind) {
    case 'string':
      return schema.values?.[0] ?? textOf(schema.format, field, number, likeness);
    case 'number':
    case 'intOrString':
      return (number % 60_000) + 1;
    case 'boolean':
      return false;
    case 'quantity':
      return '1';
    case 'array':
      return depth > deepest ? [] : [valueOf(schema.items, field, number, likeness, depth + 1)];
    case 'map':
      return depth > deepest ? {} : { [`k${number}`]: valueOf(schema.values, field, number, likeness, depth + 1) };
    case 'opaque':
      return {};
    case 'object':
      return objectOf(schema, number, likeness, { depth });
  }
}

function textOf(format: string | undefined, field: string, number: number, likeness: Likeness): string {
  if (format === 'bytes') return Buffer.from(`b${number}`).toString('base64');
  if (format === 'time') return '2026-01-31T12:00:00Z';
  if (format === 'duration') return '1s';
  if (/ips?$|^addresses$/i.test(field)) return `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
  if (field === 'operator') return 'In';
  const text = `${likeness === 'prefix' ? prefix : 'e'}${number}`;
  return /path$/i.test(field) && field !== 'path' ? `/${text}` : text;
}

interface ObjectOptions {
  readonly depth: number;
  /** Additional fields. */
  readonly fields?: readonly string[];
}

function objectOf(
  schema: ObjectSchema,
  index: number,
  likeness: Likeness,
  { depth, fields = [] }: ObjectOptions,
): Record<string, unknown> {
  const wanted = Object.entries(schema.fields).filter(
    ([field, { required }]) => required || fields.includes(field) || (likeness === 'rich' && depth < 2),
  );
  const first = Object.entries(schema.fields)
    .filter(([, { schema: inner }]) => inner.kind === 'string')
    .slice(0, 1);
  return Object.fromEntries(
    (wanted.length === 0 ? first : wanted).map(([field, { schema: inner }]) => [
      field,
      valueOf(inner, field, index, likeness, depth + 1),
    ]),
  );
}

const texts: Readonly<Record<string, (length: number) => string>> = {
  'digits and a letter': (length) => `${'1'.repeat(length)}x`,
  'letters and a sign': (length) => `${'a'.repeat(length)}!`,
  quotes: (length) => '"'.repeat(length),
  lines: (length) => 'a\n'.repeat(length / 2),
  brackets: (length) => '['.repeat(length),
  'other letters': (length) => 'ü'.repeat(length / 2),
  dots: (length) => '.'.repeat(length),
  slashes: (length) => `/${'a/'.repeat(length / 2)}!`,
  commas: (length) => 'a=b,'.repeat(length / 4),
  references: (length) => '$('.repeat(length / 2),
};

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: Math.max(1, Math.floor(count)) }, (_, index) => make(index));
const keyed = (count: number, key: (index: number) => string, value: (index: number) => unknown): object =>
  Object.fromEntries(times(count, (index) => [key(index), value(index)]));

export function shapesOf({ schema, field }: Place): readonly Shape[] {
  switch (schema.kind) {
    case 'string':
    case 'quantity':
    case 'intOrString':
      return Object.entries(texts).map(([name, make]) => ({ name, make: (length) => make(Math.floor(length)) }));
    case 'map':
      return [
        {
          name: 'distinct keys',
          make: (count) =>
            keyed(
              count,
              (index) => `k${index}`,
              (index) => valueOf(schema.values, field, index, 'distinct'),
            ),
        },
        {
          name: 'long keys',
          make: (count) =>
            keyed(
              count,
              (index) => `${prefix}.example.com/k${index}`,
              (index) => valueOf(schema.values, field, index, 'prefix'),
            ),
        },
      ];
    case 'opaque':
      return [
        {
          name: 'keys',
          make: (count) =>
            keyed(
              count,
              (index) => `k${index}`,
              () => ({}),
            ),
        },
        { name: 'empty objects', make: (count) => times(count, () => ({})) },
        {
          name: 'a nest',
          make: (count) => times(Math.min(count, 450), (index) => index).reduce<unknown>((inner) => [inner], 1),
        },
      ];
    case 'array':
      return listShapes(schema.items, field, schema.mergeKeys ?? []);
    case 'number':
    case 'boolean':
    case 'object':
      return [];
  }
}

function listShapes(items: Schema, field: string, keys: readonly string[]): readonly Shape[] {
  const element = (index: number, likeness: Likeness, fields: readonly string[] = keys): unknown =>
    items.kind === 'object'
      ? objectOf(items, likeness === 'identical' ? 0 : index, likeness, { depth: 0, fields })
      : valueOf(items, field, index, likeness);
  const alike = (['distinct', 'identical', 'prefix'] as const).map(
    (likeness): Shape => ({
      name: `${likeness} elements`,
      make: (count) => times(count, (index) => element(index, likeness)),
    }),
  );
  if (items.kind !== 'object') return alike;
  const inner = Object.entries(items.fields).filter(
    ([, { schema }]) => schema.kind === 'object' || schema.kind === 'array' || schema.kind === 'map',
  );
  return [
    ...alike,
    { name: 'rich elements', make: (count) => times(count, (index) => element(index, 'rich')) },
    { name: 'empty elements', make: (count) => times(count, () => ({})) },
    ...inner.map(
      ([only]): Shape => ({
        name: `elements with ${only}`,
        make: (count) => times(count, (index) => element(index, 'distinct', [...keys, only])),
      }),
    ),
  ];
}

/** The size at which a shape has this number of bytes, or the maximum number of values. */
export function sizeFor({ make }: Shape, bytes: number, values: number): number {
  const [small, large] = [make(64), make(128)].map((value) => Buffer.from(JSON.stringify(value)));
  if (small === undefined || large === undefined) return 1;
  const valuesOf = (text: Buffer): number => measureJson(text, Number.POSITIVE_INFINITY).values;
  const each = {
    bytes: Math.max(0.5, (large.length - small.length) / 64),
    values: Math.max(0.001, (valuesOf(large) - valuesOf(small)) / 64),
  };
  return Math.max(8, Math.floor(Math.min(bytes / each.bytes, values / each.values)));
}

/** A copy of an object with `value` at the place; missing parents are created. */
export function withPlace(base: object, root: ObjectSchema, { path }: Place, value: unknown): object {
  const copy = structuredClone(base);
  let at = copy as Record<string | number, unknown>;
  let schema: Schema = root;
  for (const [index, step] of path.entries()) {
    const inner: Schema =
      schema.kind === 'object'
        ? (schema.fields[step]?.schema ?? schema)
        : schema.kind === 'array'
          ? schema.items
          : schema.kind === 'map'
            ? schema.values
            : schema;
    if (index === path.length - 1) at[step] = value;
    else {
      const there = at[step];
      if (typeof there !== 'object' || there === null)
        at[step] =
          inner.kind === 'array' ? [] : inner.kind === 'object' ? objectOf(inner, 0, 'distinct', { depth: 2 }) : {};
      at = at[step] as Record<string | number, unknown>;
      schema = inner;
    }
  }
  return copy;
}
