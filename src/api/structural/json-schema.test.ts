import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readJsonSchema } from './json-schema.ts';

describe('the JSON of a schema', () => {
  const read = (value: unknown) => readJsonSchema(value);
  const faults = (value: unknown): string[] =>
    read(value).problems.map(({ kind, path, message }) => `${kind} ${path}: ${message}`);

  it('is kept as it is, but for what Go leaves out because it is zero', () => {
    const whole = {
      $ref: '',
      type: 'object',
      default: null,
      maximum: 0,
      minLength: 0,
      enum: [1, null],
      required: [''],
      items: [{ type: 'string' }],
      properties: { a: { additionalProperties: false } },
      allOf: [{}],
      not: {},
      dependencies: { a: ['b'] },
      externalDocs: { url: 'u' },
      'x-kubernetes-preserve-unknown-fields': false,
      'x-kubernetes-list-type': '',
      'x-kubernetes-validations': [{ rule: '', optionalOldSelf: false, reason: '' }],
    };
    const { default: _, ...kept } = whole;
    assert.deepEqual(read(whole), { schema: kept, problems: [] });
    assert.deepEqual(
      read({
        id: '',
        description: '',
        type: '',
        format: '',
        title: '',
        pattern: '',
        exclusiveMaximum: false,
        exclusiveMinimum: false,
        uniqueItems: false,
        nullable: false,
        'x-kubernetes-embedded-resource': false,
        'x-kubernetes-int-or-string': false,
        externalDocs: { description: '', url: '' },
        'x-kubernetes-validations': [{ message: '', messageExpression: '', fieldPath: '' }],
      }),
      { schema: { externalDocs: {}, 'x-kubernetes-validations': [{}] }, problems: [] },
    );
  });

  it('is refused where a value is of another type, with its place', () => {
    assert.deepEqual(
      faults({
        type: 1,
        nullable: 'yes',
        maximum: '1',
        minLength: 1.5,
        enum: {},
        properties: { a: [], b: { title: 1 } },
        required: [1],
        items: 1,
        allOf: {},
        externalDocs: [],
      }),
      [
        'wrongType .type: expected a string',
        'wrongType .nullable: expected true or false',
        'wrongType .maximum: expected a number',
        'wrongType .minLength: expected a whole number',
        'wrongType .enum: expected a list',
        'wrongType .properties[a]: expected an object',
        'wrongType .properties[b].title: expected a string',
        'wrongType .required[0]: expected a string',
        'wrongType .items: expected an object',
        'wrongType .allOf: expected a list',
        'wrongType .externalDocs: expected an object',
      ],
    );
    assert.deepEqual(read('x'), {
      schema: {},
      problems: [{ kind: 'wrongType', path: '', message: 'expected an object' }],
    });
    assert.deepEqual(faults({ properties: [] }), ['wrongType .properties: expected an object']);
    assert.deepEqual(faults({ maximum: 9_007_199_254_740_993n, multipleOf: 0.5 }), []);
  });

  it('has no fields that are none of a schema', () => {
    assert.deepEqual(
      faults({ odd: 1, properties: { a: { 'x-other': 1 } }, 'x-kubernetes-validations': [{ rules: '' }] }),
      [
        'unknownField .odd: unknown field',
        'unknownField .properties[a].x-other: unknown field',
        'unknownField .x-kubernetes-validations[0].rules: unknown field',
      ],
    );
    assert.deepEqual(read({ odd: 1, type: 'object' }).schema, { type: 'object' });
  });
});
