import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CustomResourceDefinition } from '../../api/apiextensions/custom-resource-definition.ts';
import type { JsonSchema } from '../../api/structural/json-schema.ts';
import { deprecationOf } from './deprecation.ts';
import { openApiOf } from './open-api.ts';

const schema: JsonSchema = {
  type: 'object',
  description: 'a ring',
  properties: {
    size: { type: 'string', nullable: true, default: 'x' },
    either: { 'x-kubernetes-int-or-string': true, type: 'integer', anyOf: [{ type: 'integer' }, { type: 'string' }] },
    list: { type: 'array', items: { type: 'string', nullable: true } },
    map: { type: 'object', additionalProperties: { type: 'string', not: { enum: ['x'] } } },
    free: { type: 'object', additionalProperties: true },
    some: { type: 'string', oneOf: [{ minLength: 1 }], allOf: [{ nullable: true, maxLength: 2 }] },
  },
};

describe('the schema of a custom kind in OpenAPI', () => {
  it('is in version 3 as its author wrote it, but for the type of what may be of two', () => {
    const { either, ...rest } = schema.properties ?? {};
    const { type: _, ...untyped } = either ?? {};
    assert.deepEqual(openApiOf(schema, 3), { ...schema, properties: { ...rest, either: untyped } });
  });

  it('is in version 2 without what that cannot say', () => {
    assert.deepEqual(openApiOf(schema, 2), {
      type: 'object',
      description: 'a ring',
      properties: {
        size: {},
        either: { 'x-kubernetes-int-or-string': true },
        list: { type: 'array', items: {} },
        map: { type: 'object', additionalProperties: { type: 'string' } },
        free: { type: 'object', additionalProperties: true },
        some: { type: 'string' },
      },
    });
  });
});

describe('the warning of a deprecated version', () => {
  const versions = [
    { name: 'v1alpha1', served: true, storage: false, deprecated: true },
    { name: 'v1beta1', served: false, storage: false },
    { name: 'v1', served: true, storage: true },
  ];
  const warning = (list: typeof versions, more: object = {}): string | undefined =>
    deprecationOf(
      { spec: { group: 'shop.io', names: { kind: 'Ring' }, versions: list } } as unknown as CustomResourceDefinition,
      { ...list[0], ...more } as (typeof versions)[number],
    );

  it('names the version to use instead, which is one that is served and not deprecated', () => {
    assert.equal(warning(versions), 'shop.io/v1alpha1 Ring is deprecated; use shop.io/v1 Ring');
    assert.equal(warning(versions.slice(0, 2)), 'shop.io/v1alpha1 Ring is deprecated');
    const older = { name: 'v1alpha0', served: true, storage: false };
    assert.equal(
      warning([...versions.slice(0, 1), older]),
      'shop.io/v1alpha1 Ring is deprecated',
      'an older one is no way out',
    );
  });

  it('is the author’s where there is one, and none for other versions', () => {
    assert.equal(warning(versions, { deprecationWarning: 'gone soon' }), 'gone soon');
    assert.equal(warning(versions, { deprecated: false }), undefined);
  });
});

describe('a schema of a custom kind in version 2 of OpenAPI', () => {
  it('is as it was written, but for alternatives and defaults', () => {
    const schema = {
      type: 'object',
      required: ['a'],
      properties: { a: { type: 'string', default: 'x', anyOf: [{}] } },
    };
    assert.deepEqual(openApiOf(schema, 2), {
      type: 'object',
      required: ['a'],
      properties: { a: { type: 'string' } },
    });
    assert.deepEqual(openApiOf(schema, 3), schema);
  });

  it('says nothing of what is in a value with fields of its own choice', () => {
    const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { a: {} } };
    assert.deepEqual(openApiOf(open, 2), { 'x-kubernetes-preserve-unknown-fields': true });
    const list = { type: 'array', 'x-kubernetes-preserve-unknown-fields': true, items: { type: 'string' } };
    assert.deepEqual(openApiOf(list, 2), { 'x-kubernetes-preserve-unknown-fields': true });
  });

  it('has no type for what may be null or of two types, and does not require it', () => {
    const schema = {
      type: 'object',
      required: ['a', 'b'],
      properties: { a: { type: 'string', nullable: true }, b: { type: 'string', 'x-kubernetes-int-or-string': true } },
    };
    assert.deepEqual(openApiOf(schema, 2), {
      type: 'object',
      required: ['b'],
      properties: { a: {}, b: { 'x-kubernetes-int-or-string': true } },
    });
  });
});

describe('what a schema of a custom kind only implies', () => {
  const types = [{ type: 'integer' }, { type: 'string' }];

  it('is written out for a value of two types', () => {
    const either = { 'x-kubernetes-int-or-string': true, pattern: '^1' };
    assert.deepEqual(openApiOf(either, 3), { ...either, anyOf: types });
    for (const written of [
      { ...either, anyOf: types },
      { ...either, allOf: [{ anyOf: types }] },
    ])
      assert.deepEqual(openApiOf(written, 3), written);
    const other = { ...either, anyOf: [{ minimum: 1 }], allOf: [{ maximum: 3 }] };
    assert.deepEqual(openApiOf(other, 3), { ...other, allOf: [{ anyOf: types }, { maximum: 3 }] });
  });

  it('is written out for an embedded object, and left open where a client would refuse unknown fields', () => {
    const embedded = { type: 'object', required: ['kind'], 'x-kubernetes-embedded-resource': true };
    for (const version of [2, 3] as const) {
      const { properties, required } = openApiOf(embedded, version);
      assert.deepEqual(
        [Object.keys(properties as object), required],
        [
          ['apiVersion', 'kind', 'metadata'],
          ['kind', 'apiVersion'],
        ],
      );
    }
    const open = { ...embedded, 'x-kubernetes-preserve-unknown-fields': true };
    assert.equal(openApiOf(open, 2)['properties'], undefined);
    assert.notEqual(openApiOf(open, 3)['properties'], undefined);
  });
});
