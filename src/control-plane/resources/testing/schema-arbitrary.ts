import fc from 'fast-check';
import type { ObjectSchema, Schema, StringSchema } from '../../../api/schema/schema.ts';

/** The possible values of strings, apart from those that their schema lists. */
export type Words = readonly string[];

const plainWords: Words = [
  '',
  'a',
  'web',
  'None',
  'ReadWriteOnce',
  'example.com/x',
  'A b',
  '10.0.0.1',
  '::1',
  '*',
  'IPv4',
  'kubernetes.io/x',
];
/** The properties that every object inherits. Some are valid as a name, a label's key or a resource. */
export const inheritedWords: Words = [
  'constructor',
  '__proto__',
  'toString',
  'hasOwnProperty',
  'valueOf',
  'example.com/constructor',
  'cpu',
  'a',
];
const quantities = ['0', '1', '500m', '2Gi', '-1', '1e3'];
const opaques: readonly unknown[] = ['x', 1, {}, [], { a: [1] }];
const maxDepth = 7;

/**
 * Generates all values that a schema accepts, valid or not: meaningless strings, numbers of every sign, short lists,
 * and fields that are present or missing.
 */
export function arbitraryOf(schema: Schema, words = plainWords, depth = 0): fc.Arbitrary<unknown> {
  switch (schema.kind) {
    case 'string':
      return stringOf(schema, words);
    case 'number':
      return schema.format === 'double'
        ? fc.double({ noNaN: true })
        : fc.constantFrom(-1, 0, 1, 80, 30_000, 2_147_483_647);
    case 'boolean':
      return fc.boolean();
    case 'quantity':
      return fc.constantFrom(...quantities);
    case 'intOrString':
      return fc.constantFrom<number | string>(0, 1, -1, 80, 'http', '25%', '200%');
    case 'array':
      return depth > maxDepth
        ? fc.constant([])
        : fc.array(arbitraryOf(schema.items, words, depth + 1), { maxLength: 2 });
    case 'map':
      return depth > maxDepth
        ? fc.constant({})
        : fc.dictionary(fc.constantFrom(...words), arbitraryOf(schema.values, words, depth + 1), { maxKeys: 2 });
    case 'object':
      return objectOf(schema, words, depth);
    case 'opaque':
      return schema.message === undefined
        ? fc.constantFrom(...opaques)
        : fc.constant({ type: 'object', nullable: true, items: { type: 'string' } });
  }
}

function stringOf({ values, format, micros }: StringSchema, words: Words): fc.Arbitrary<string> {
  if (format === 'bytes') return fc.constantFrom('', 'AAAA', 'LS0tLS1CRUdJTg==');
  if (format === 'time' && micros === true) return fc.constantFrom('2026-01-31T12:00:00.000001Z');
  if (format === 'time') return fc.constantFrom('2026-01-31T12:00:00Z', '1970-01-01T00:00:00Z');
  if (format === 'duration') return fc.constantFrom('1m30s', '0s');
  return fc.constantFrom(...words, ...(values ?? []));
}

/**
 * Generates objects in which each field is seldom present, so that there are many combinations and objects stay small.
 */
function objectOf(schema: ObjectSchema, words: Words, depth: number): fc.Arbitrary<object> {
  const fields = Object.entries(schema.fields);
  if (depth > maxDepth || fields.length === 0) return fc.constant({});
  const likely = Math.min(0.9, 5 / fields.length);
  const each = fields.map(([name, { schema: inner, required }]) => {
    const chance = required || depth === 0 ? 4 : Math.max(1, Math.round(likely * 4));
    return fc.oneof(
      { weight: chance, arbitrary: lazily(inner, words, depth + 1).map((value) => [name, value] as const) },
      { weight: 5 - chance, arbitrary: fc.constant(undefined) },
    );
  });
  return fc.tuple(...each).map((pairs) => Object.fromEntries(pairs.filter((pair) => pair !== undefined)));
}

/** The arbitraries of nested parts, each created once when it is first needed. */
const made = new WeakMap<Schema, WeakMap<Words, Map<number, fc.Arbitrary<unknown>>>>();

function lazily(schema: Schema, words: Words, depth: number): fc.Arbitrary<unknown> {
  return fc.constant(undefined).chain(() => {
    let byWords = made.get(schema);
    if (byWords === undefined) made.set(schema, (byWords = new WeakMap()));
    let byDepth = byWords.get(words);
    if (byDepth === undefined) byWords.set(words, (byDepth = new Map()));
    let found = byDepth.get(depth);
    if (found === undefined) byDepth.set(depth, (found = arbitraryOf(schema, words, depth)));
    return found;
  });
}
