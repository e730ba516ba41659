import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeMessage } from '../protobuf/decode-protobuf.ts';
import { dropZeros } from '../protobuf/drop-zeros.ts';
import { encodeMessage } from '../protobuf/encode-protobuf.ts';
import { scanJson } from '../scan-json.ts';
import { decodeAny, formatDecodeError } from '../schema/decode.ts';
import { CustomResourceValidationSchema } from './custom-resource-definition.ts';

const roundTrip = (openAPIV3Schema: object): unknown =>
  decodeMessage(encodeMessage({ openAPIV3Schema }, CustomResourceValidationSchema), CustomResourceValidationSchema)[
    'openAPIV3Schema'
  ];

describe('a schema of a custom kind in protobuf', () => {
  it('comes back as it was', () => {
    const schema = {
      type: 'object',
      description: 'd',
      $ref: '',
      default: { a: [1, null, 'x'] },
      enum: ['a', 1, null],
      minimum: 0,
      maxItems: 0,
      required: ['a'],
      properties: {
        list: { type: 'array', items: { type: 'string', pattern: '^a' }, 'x-kubernetes-list-type': 'set' },
        tuple: { items: [{ type: 'string' }, { type: 'integer' }] },
        open: { type: 'object', additionalProperties: { type: 'integer', nullable: true } },
        any: { additionalProperties: true },
        none: { additionalProperties: false },
        preserved: { 'x-kubernetes-preserve-unknown-fields': true },
        zeros: { type: 'boolean', default: false, example: 0 },
        nothing: {},
      },
      dependencies: { a: ['b'], b: { type: 'string' } },
      not: { allOf: [{ required: ['x'] }] },
      'x-kubernetes-validations': [{ rule: 'true', reason: 'FieldValueInvalid', optionalOldSelf: false }],
    };
    assert.deepEqual(roundTrip(schema), schema);
  });

  it('has the numbers of the API, and unions as messages of their own', () => {
    const bytes = encodeMessage(
      { openAPIV3Schema: { type: 'array', items: { default: 1 } } },
      CustomResourceValidationSchema,
    );
    // 1 { 5: "array", 24 { 1 { 8 { 1: "1" } } } }
    assert.equal(Buffer.from(bytes).toString('hex'), '0a112a056172726179c201070a05' + '42030a0131');
  });

  it('loses zeros that Go writes for nothing', () => {
    assert.deepEqual(roundTrip({ type: '', nullable: false, maxLength: 0 }), { maxLength: 0 });
  });
});

describe('a schema of a custom kind in JSON', () => {
  const wrap = (openAPIV3Schema: unknown): object => ({ openAPIV3Schema });
  const read = (schema: unknown) =>
    decodeAny(CustomResourceValidationSchema, wrap(schema), { mode: 'lenient', noHints: true });
  const nested = {
    type: 'object',
    properties: { a: { type: 'array', items: { type: 'string', moon: 1 } } },
    allOf: [{ star: 1 }],
    sun: 2,
  };

  it('loses the fields that it does not have, which are named', () => {
    const { value, errors, warnings } = read(nested);
    assert.deepEqual(errors, []);
    assert.deepEqual(
      value,
      wrap({ type: 'object', properties: { a: { type: 'array', items: { type: 'string' } } }, allOf: [{}] }),
    );
    // Upstream's own readers of items and similar fields report no unknown fields, and kubectl refuses objects that
    // cause warnings.
    assert.deepEqual(warnings.map(formatDecodeError).sort(), [
      'unknown field "openAPIV3Schema.allOf[0].star"',
      'unknown field "openAPIV3Schema.sun"',
    ]);
  });

  it('names unknown and repeated fields in the order of the text', () => {
    const text =
      '{"openAPIV3Schema":{"type":"x","type":"object","allOf":[{"moon":1}],"additionalProperties":{"sun":2}}}';
    assert.deepEqual(scanJson(text, CustomResourceValidationSchema).problems, [
      'duplicate field "openAPIV3Schema.type"',
      'unknown field "openAPIV3Schema.allOf[0].moon"',
    ]);
  });

  it('has fields of the right types, and any value where any is right', () => {
    for (const wrong of [
      { exclusiveMinimum: 5 },
      { type: ['a'] },
      { properties: [] },
      { minLength: 1.5 },
      { items: 1 },
    ])
      assert.equal(read(wrong).errors.length, 1, JSON.stringify(wrong));
    const free = { default: { moon: [1] }, enum: [{ a: null }, null], example: { x: 1 }, additionalProperties: false };
    assert.deepEqual(read(free), { value: wrap(free), errors: [], warnings: [] });
  });

  it('may be as deep as a body, and of as many values', () => {
    let deep: object = { type: 'string' };
    for (let level = 0; level < 200; level++) deep = { type: 'object', properties: { a: deep } };
    assert.deepEqual(read(deep).errors, []);
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`f${index}`, { type: 'string' }]));
    const wide = decodeAny(CustomResourceValidationSchema, wrap({ properties: many }), { maxValues: 1000 });
    assert.deepEqual(wide.errors, []);
  });

  it('loses what Go would not write', () => {
    const zeros = {
      type: 'object',
      enum: [],
      required: [],
      nullable: false,
      properties: { a: { title: '', default: '' } },
    };
    assert.deepEqual(
      dropZeros(wrap(zeros), CustomResourceValidationSchema),
      wrap({ type: 'object', properties: { a: { default: '' } } }),
    );
  });
});
