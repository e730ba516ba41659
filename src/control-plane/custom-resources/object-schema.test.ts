import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EmbeddedObjectMetaSchema, ObjectMetaSchema } from '../../api/core/meta.ts';
import type { ObjectSchema, Schema } from '../../api/schema/schema.ts';
import type { JsonSchema } from '../../api/structural/json-schema.ts';
import { compileSchema } from '../../api/structural/schema-node.ts';
import { objectSchemaOf } from './object-schema.ts';

const rootOf = (json: JsonSchema): ObjectSchema => objectSchemaOf('Ring', compileSchema(json));
const fieldOf = (json: JsonSchema): Schema => {
  const { fields } = rootOf({ type: 'object', properties: { a: json } });
  return (fields as Record<string, { schema: Schema }>)['a']?.schema ?? assert.fail('no field');
};
const kindOf = (json: JsonSchema): string => fieldOf(json).kind;
const text: JsonSchema = { type: 'string' };

describe('the schema of a custom kind', () => {
  it('has the fields of every object beside its own', () => {
    const { kind, name, fields, custom } = rootOf({ type: 'object', properties: { spec: { type: 'object' } } });
    assert.deepEqual([kind, name, custom], ['object', 'Ring', {}]);
    assert.deepEqual(Object.keys(fields).sort(), ['apiVersion', 'kind', 'metadata', 'spec']);
    assert.equal(fields['metadata']?.schema, ObjectMetaSchema);
    assert.deepEqual([fields['metadata']?.required, fields['kind']?.required], [true, false]);
  });

  it('keeps fields that it does not know where its schema says so', () => {
    assert.deepEqual(
      rootOf({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }).custom?.rest?.kind,
      'opaque',
    );
  });

  it('has a type for each type of a schema', () => {
    assert.deepEqual(
      [
        text,
        { type: 'boolean' },
        { type: 'integer' },
        { type: 'number' },
        { 'x-kubernetes-int-or-string': true },
        {},
        { type: 'array', items: text },
        { type: 'object' },
        { type: 'object', properties: { x: text } },
      ].map((json) => kindOf(json as JsonSchema)),
      ['string', 'boolean', 'number', 'number', 'intOrString', 'opaque', 'array', 'map', 'object'],
    );
  });

  it('has lists that are merged by their keys, are sets, or are replaced', () => {
    const items: JsonSchema = {
      type: 'object',
      properties: { name: text, protocol: { ...text, default: 'TCP' }, port: { type: 'integer', default: 1 } },
    };
    const map = fieldOf({
      type: 'array',
      items,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name', 'protocol', 'port'],
    });
    assert.deepEqual(
      [
        (map as { mergeKeys?: unknown }).mergeKeys,
        (map as { keyDefaults?: unknown }).keyDefaults,
        (map as { listType?: unknown }).listType,
      ],
      [['name', 'protocol', 'port'], { protocol: 'TCP' }, undefined],
    );
    const set = fieldOf({ type: 'array', items: text, 'x-kubernetes-list-type': 'set' });
    assert.deepEqual(
      [(set as { listType?: unknown }).listType, (set as { mergeKeys?: unknown }).mergeKeys],
      ['set', undefined],
    );
    const plain = fieldOf({ type: 'array' }) as { listType?: unknown; mergeKeys?: unknown; items?: Schema };
    assert.deepEqual([plain.listType, plain.mergeKeys, plain.items?.kind], [undefined, undefined, 'opaque']);
  });

  it('has objects and maps, atomic where they are replaced as a whole', () => {
    const atomic = { 'x-kubernetes-map-type': 'atomic' } as const;
    const shape = (json: JsonSchema): unknown => {
      const {
        kind,
        atomic: isAtomic,
        values,
        custom,
      } = fieldOf(json) as {
        kind: string;
        atomic?: boolean;
        values?: Schema;
        custom?: { rest?: Schema };
      };
      return [kind, isAtomic === true, values?.kind ?? custom?.rest?.kind];
    };
    assert.deepEqual(
      [
        { type: 'object', additionalProperties: text },
        { type: 'object', ...atomic },
        { type: 'object', properties: { x: text }, ...atomic },
        { type: 'object', properties: { x: text } },
        { type: 'object', properties: { x: text }, 'x-kubernetes-preserve-unknown-fields': true },
      ].map((json) => shape(json as JsonSchema)),
      [
        ['map', false, 'string'],
        ['map', true, 'opaque'],
        ['object', true, undefined],
        ['object', false, undefined],
        ['object', false, 'opaque'],
      ],
    );
  });

  it('has the fields of an object in an embedded one', () => {
    const embedded = fieldOf({
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
    }) as ObjectSchema;
    assert.deepEqual(Object.keys(embedded.fields).sort(), ['apiVersion', 'kind', 'metadata']);
    assert.equal(embedded.fields['metadata']?.schema, EmbeddedObjectMetaSchema);
  });
});
