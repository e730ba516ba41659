import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { decodeMessage } from '../../api/protobuf/decode-protobuf.ts';
import { encodeMessage } from '../../api/protobuf/encode-protobuf.ts';
import { dropZeros } from '../../api/protobuf/drop-zeros.ts';
import { decodeAny } from '../../api/schema/decode.ts';
import type { Field, ObjectSchema, Schema } from '../../api/schema/schema.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';
import { allResources } from './all.ts';
import { arbitraryOf } from './testing/schema-arbitrary.ts';

/** Decodes a value as the body of a request is decoded. */
const read = (schema: ObjectSchema, plain: unknown): object => {
  const { value } = decodeAny(schema, plain, { mode: 'lenient', noHints: true });
  const { kind: _, apiVersion: __, ...rest } = value as Fields;
  return dropZeros(rest, schema);
};

type Fields = Readonly<Record<string, unknown>>;

/**
 * Removes what Go does not distinguish: empty and missing lists and maps, a port of 0, and zeros that are not pointers,
 * which `dropZeros` keeps in objects of one owner.
 */
function withoutEmpty(value: unknown, schema: Schema): unknown {
  if (value === undefined || value === null) return value;
  if (schema.kind === 'array') return (value as readonly unknown[]).map((item) => withoutEmpty(item, schema.items));
  const entries = (of: (name: string) => Schema | undefined): [string, unknown][] =>
    Object.entries(value as Fields).map(([name, inner]) => {
      const known = of(name);
      return [name, known === undefined ? inner : withoutEmpty(inner, known)];
    });
  if (schema.kind === 'map') return Object.fromEntries(entries(() => schema.values));
  if (schema.kind !== 'object') return value;
  return Object.fromEntries(
    entries((name) => schema.fields[name]?.schema).filter(([name, inner]) => {
      const field = schema.fields[name];
      // A message does not contain the kind, also for nested objects.
      if ((name === 'kind' || name === 'apiVersion') && field?.number === undefined) return false;
      return field === undefined || field.required || !isEmpty(inner, field);
    }),
  );
}

function isEmpty(value: unknown, { schema, keepsZero }: Field): boolean {
  if (schema.kind === 'array') return (value as readonly unknown[]).length === 0;
  if (schema.kind === 'map') return Object.keys(value as object).length === 0;
  return !keepsZero && (value === '' || value === 0 || value === false);
}

const partsOf = ({ schema, views = [], actions = [] }: ResourceDefinition): ReadonlyMap<string, ObjectSchema> =>
  new Map([schema, ...[...views, ...actions].map((part) => part.schema ?? schema)].map((each) => [each.name, each]));

for (const definition of allResources)
  for (const [name, schema] of partsOf(definition))
    test(`a ${name} of ${definition.type.plural}.${definition.type.group} says the same in JSON, as a message, and in JSON again`, () => {
      fc.assert(
        fc.property(arbitraryOf(schema), (plain) => {
          const before = read(schema, plain);
          const after = read(schema, decodeMessage(encodeMessage(before, schema), schema));
          const shown = (value: object): unknown => JSON.parse(JSON.stringify(withoutEmpty(value, schema)));
          assert.deepEqual(shown(after), shown(before));
        }),
        { numRuns: 40 },
      );
    });

test('the schema of a custom kind keeps its forms as a message', () => {
  const schema = {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        properties: {
          list: { type: 'array', items: { type: 'string', enum: ['a', null, 3], maxLength: 5 }, minItems: 0 },
          several: { items: [{ type: 'string' }, { type: 'integer', maximum: 2.5 }], additionalItems: false },
          free: { 'x-kubernetes-preserve-unknown-fields': true, default: { a: [1, { b: null }] } },
          map: { type: 'object', additionalProperties: { type: 'integer', format: 'int64', minimum: -3 } },
          open: { type: 'object', additionalProperties: true },
          either: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
          needs: { dependencies: { a: ['b', 'c'], d: { required: ['e'] } }, not: { type: 'null' } },
        },
        'x-kubernetes-validations': [{ rule: 'self.map.size() > 0', message: 'no', optionalOldSelf: false }],
      },
    },
  };
  const definition = {
    metadata: { name: 'a.b.c' },
    spec: {
      group: 'b.c',
      scope: 'Namespaced',
      names: { plural: 'a', kind: 'A' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  };
  const found = allResources.find(({ type }) => type.kind === 'CustomResourceDefinition');
  assert.ok(found !== undefined);
  assert.deepEqual(decodeMessage(encodeMessage(definition, found.schema), found.schema), definition);
});
