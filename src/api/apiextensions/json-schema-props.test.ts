import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeMessage } from '../protobuf/decode-protobuf.ts';
import { encodeMessage } from '../protobuf/encode-protobuf.ts';
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
