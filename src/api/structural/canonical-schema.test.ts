import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CustomResourceValidationSchema } from '../apiextensions/custom-resource-definition.ts';
import { dropZeros } from '../protobuf/drop-zeros.ts';
import { decodeAny } from '../schema/decode.ts';
import { isCanonicalSchema } from './canonical-schema.ts';
import { readJsonSchema } from './json-schema.ts';

/** Together they have every keyword with a value that is kept; the others have each kind of value that is not. */
const kept: readonly object[] = [
  {},
  { type: 'object', description: 'text', format: 'x', title: 't', pattern: '.' },
  { default: { a: null, b: '', c: [] }, example: 0 },
  { maximum: 0, minimum: -1.5, multipleOf: 1, exclusiveMaximum: true, exclusiveMinimum: true },
  { maxLength: 0, minLength: 1, maxItems: 2, minItems: 3, maxProperties: 4, minProperties: 5 },
  { enum: [null, '', 0, false, {}], required: ['', 'a'], nullable: true },
  { items: { type: 'string' }, not: { minimum: 1 }, additionalProperties: false },
  { additionalProperties: { type: 'string' } },
  { allOf: [{}], anyOf: [{ type: 'integer' }, { type: 'string' }], oneOf: [{ required: ['a'] }] },
  { properties: JSON.parse('{"__proto__": {"type": "string"}, "constructor": {}}') },
  { 'x-kubernetes-preserve-unknown-fields': false, 'x-kubernetes-embedded-resource': true },
  { 'x-kubernetes-int-or-string': true, 'x-kubernetes-map-type': '', 'x-kubernetes-list-type': 'map' },
  { 'x-kubernetes-list-map-keys': ['a'] },
  {
    'x-kubernetes-validations': [
      { rule: 'r', message: 'm', messageExpression: 'e', reason: '', fieldPath: '.a', optionalOldSelf: false },
    ],
  },
];
const changed: readonly unknown[] = [
  ...['description', 'type', 'format', 'title', 'pattern', 'id', '$schema'].map((name) => ({ [name]: '' })),
  ...['exclusiveMaximum', 'nullable', 'x-kubernetes-int-or-string'].map((name) => ({ [name]: false })),
  ...['default', 'example', 'maximum', 'items', 'properties', 'enum'].map((name) => ({ [name]: null })),
  ...['enum', 'required', 'allOf', 'x-kubernetes-validations'].map((name) => ({ [name]: [] })),
  ...['required', 'items', 'properties', 'not', 'maxLength', 'nullable'].map((name) => ({ [name]: 'wrong' })),
  { unknown: 1 },
  { properties: {} },
  { properties: { a: null } },
  { properties: { a: { unknown: 1 } } },
  { required: ['a', null] },
  { maxLength: 1.5 },
  { maxLength: 1e17 },
  { maximum: 9_007_199_254_740_993n },
  { 'x-kubernetes-validations': [{ rule: 'r', message: '' }] },
  { 'x-kubernetes-validations': [{ rule: 'r', unknown: 1 }] },
  'text',
  [],
  null,
];

/** The schema after the three steps of a write. `$ref` is not canonical, so the steps copy it. */
function copied(schema: unknown): unknown {
  const outer = { openAPIV3Schema: { $ref: 'x', properties: { inner: schema } } };
  const { value, errors, warnings } = decodeAny(CustomResourceValidationSchema, outer, { mode: 'lenient' });
  const dropped = dropZeros(value as { readonly openAPIV3Schema: object }, CustomResourceValidationSchema);
  const read = readJsonSchema(dropped.openAPIV3Schema);
  return errors.length + warnings.length + read.problems.length > 0 ? 'problems' : read.schema.properties?.['inner'];
}

describe('a canonical schema', () => {
  it('is one that decoding, removing zeros and reading return as it is', () => {
    for (const schema of kept) {
      assert.equal(isCanonicalSchema(schema), true, JSON.stringify(schema));
      assert.deepEqual(copied(schema), schema);
    }
  });

  it('is not copied', () => {
    for (const schema of kept) {
      const decoded = decodeAny(CustomResourceValidationSchema, { openAPIV3Schema: schema }).value as {
        readonly openAPIV3Schema: object;
      };
      assert.equal(decoded.openAPIV3Schema, schema);
      assert.equal(dropZeros(decoded, CustomResourceValidationSchema), decoded);
      assert.equal(readJsonSchema(schema).schema, schema);
    }
  });

  it('has neither unknown fields nor values that are dropped, converted or refused', () => {
    for (const schema of changed) {
      assert.equal(isCanonicalSchema(schema), false);
      assert.notDeepEqual(copied(schema), schema);
    }
  });
});
