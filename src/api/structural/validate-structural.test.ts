import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FieldErrors, formatFieldError } from '../validation/field-error.ts';
import type { JsonSchema } from './json-schema.ts';
import { schemaAtPath } from './schema-at-path.ts';
import { validateDefaults } from './validate-defaults.ts';
import { additionalOf, itemsOf, validateStructural } from './validate-structural.ts';

const problems = (schema: JsonSchema): string[] => validateStructural(schema, 's').map(formatFieldError);
const field = (a: JsonSchema): JsonSchema => ({ type: 'object', properties: { a } });
const text: JsonSchema = { type: 'string' };
const embedded: JsonSchema = { type: 'object', 'x-kubernetes-embedded-resource': true };
const preserves: JsonSchema = { 'x-kubernetes-preserve-unknown-fields': true };
const either: JsonSchema = { 'x-kubernetes-int-or-string': true };

describe('a structural schema', () => {
  it('says the type of every field, unless it may be anything or of two types', () => {
    assert.deepEqual(problems(field(text)), []);
    assert.deepEqual(problems(field(either)), []);
    assert.deepEqual(problems(field(preserves)), []);
    assert.deepEqual(problems({ type: 'object', ...preserves }), []);
    assert.deepEqual(problems(field({ type: 'array', items: {} })), [
      's.properties[a].items.type: Required value: must not be empty for specified array items',
    ]);
    assert.deepEqual(problems(field({ type: 'object', additionalProperties: {} })), [
      's.properties[a].additionalProperties.type: Required value: must not be empty for specified object fields',
    ]);
    assert.deepEqual(problems(field({ type: 'object', additionalProperties: field({}) })), [
      's.properties[a].additionalProperties.properties[a].type: Required value: must not be empty for specified object fields',
    ]);
  });

  it('is an object at its root, without a schema for fields of any name', () => {
    assert.deepEqual(problems({ type: 'string' }), ['s.type: Invalid value: "string": must be object at the root']);
    assert.deepEqual(problems({ type: 'object', additionalProperties: text }), [
      's.additionalProperties: Forbidden: must not be used at the root',
    ]);
  });

  it('does not mix values of two types with objects', () => {
    const must = 'Invalid value: true: must be false if x-kubernetes-int-or-string is true';
    assert.deepEqual(problems(field({ ...either, ...preserves })), [
      `s.properties[a].x-kubernetes-preserve-unknown-fields: ${must}`,
    ]);
    assert.ok(
      problems(field({ ...either, ...embedded, ...preserves })).includes(
        `s.properties[a].x-kubernetes-embedded-resource: ${must}`,
      ),
    );
  });

  it('has whole objects that are objects with known or kept fields', () => {
    assert.deepEqual(problems(field({ ...embedded, ...preserves })), []);
    assert.deepEqual(problems(field({ ...embedded, properties: { spec: text } })), []);
    assert.deepEqual(problems(field(embedded)), [
      's.properties[a].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
    ]);
    assert.deepEqual(problems(field({ ...embedded, ...preserves, type: 'string' })), [
      's.properties[a].type: Invalid value: "string": must be object if x-kubernetes-embedded-resource is true',
    ]);
    assert.deepEqual(problems(field({ 'x-kubernetes-embedded-resource': true, ...preserves })), [
      's.properties[a].type: Required value: must be object if x-kubernetes-embedded-resource is true',
    ]);
    assert.deepEqual(problems(field({ ...embedded, ...preserves, additionalProperties: text })), [
      's.properties[a].additionalProperties: Forbidden: must not be used if x-kubernetes-embedded-resource is set',
    ]);
  });

  it('restricts of the fields of every object the name only', () => {
    const withFields = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
      type: 'object',
      properties,
    });
    assert.deepEqual(problems(withFields({ kind: text, apiVersion: text, metadata: { type: 'object' } })), []);
    const named: JsonSchema = { type: 'object', description: 'd', properties: { name: text, generateName: text } };
    assert.deepEqual(problems(withFields({ metadata: named })), []);
    assert.deepEqual(problems(withFields({ kind: { type: 'integer' }, apiVersion: { type: 'boolean' } })), [
      's.properties[apiVersion].type: Invalid value: "boolean": must be string',
      's.properties[kind].type: Invalid value: "integer": must be string',
    ]);
    assert.deepEqual(problems(withFields({ metadata: text })), [
      's.properties[metadata].type: Invalid value: "string": must be object',
    ]);
    const only = 'must not specify anything other than name and generateName, but metadata is implicitly specified';
    assert.deepEqual(problems(withFields({ metadata: { type: 'object', maxProperties: 3 } })), [
      `s.properties[metadata]: Forbidden: ${only}`,
    ]);
    // At deeper levels these are ordinary names, except in embedded objects.
    assert.deepEqual(problems(field(withFields({ kind: { type: 'integer' }, metadata: field(text) }))), []);
    assert.deepEqual(problems(field({ ...embedded, properties: { kind: { type: 'integer' } } })), [
      's.properties[a].properties[kind].type: Invalid value: "integer": must be string',
    ]);
    assert.deepEqual(problems(field({ ...embedded, properties: { metadata: field(text) } })), []);
  });
});

describe('an alternative in a structural schema', () => {
  const inside = (step: 'allOf' | 'anyOf' | 'oneOf', ...list: JsonSchema[]): JsonSchema => ({
    type: 'object',
    properties: { a: text, list: { type: 'array', items: field(text) } },
    [step]: list,
  });

  it('narrows what is allowed, and says no types', () => {
    assert.deepEqual(problems(inside('allOf', { required: ['a'] }, { properties: { a: { minLength: 1 } } })), []);
    assert.deepEqual(problems(inside('oneOf', { properties: { list: { items: { properties: { a: {} } } } } })), []);
    for (const step of ['allOf', 'anyOf', 'oneOf'] as const)
      assert.deepEqual(problems(inside(step, {}, { type: 'object' })), [
        `s.${step}[1].type: Forbidden: must be empty to be structural`,
      ]);
    assert.deepEqual(problems({ ...field(text), not: { type: 'object' } }), [
      's.not.type: Forbidden: must be empty to be structural',
    ]);
  });

  it('has nothing that changes what an object is', () => {
    const words: JsonSchema = {
      title: 't',
      description: 'd',
      default: 1,
      nullable: true,
      additionalProperties: true,
      ...preserves,
      ...either,
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-list-type': 'set',
      'x-kubernetes-list-map-keys': ['k'],
      'x-kubernetes-map-type': 'atomic',
      'x-kubernetes-validations': [{ rule: 'true' }],
    };
    assert.deepEqual(
      problems(inside('anyOf', words))
        .map((line) => /\.anyOf\[0\]\.([\w-]+): Forbidden: must be/.exec(line)?.[1])
        .sort(),
      Object.keys(words).sort(),
    );
    assert.deepEqual(
      problems(inside('anyOf', { nullable: false, 'x-kubernetes-list-map-keys': [], 'x-kubernetes-validations': [] })),
      [],
    );
  });

  it('speaks of fields that the schema has', () => {
    const because = (path: string): string => `Required value: because it is defined in s.anyOf[0].${path}`;
    assert.deepEqual(problems(inside('anyOf', { properties: { b: {} } })), [
      `s.properties[b]: ${because('properties[b]')}`,
    ]);
    assert.deepEqual(problems(inside('anyOf', { items: {} })), [`s.items: ${because('items')}`]);
    assert.deepEqual(problems(inside('anyOf', { properties: { toString: {} } })), [
      `s.properties[toString]: ${because('properties[toString]')}`,
    ]);
    assert.deepEqual(problems({ ...inside('anyOf', { properties: { metadata: {} } }) }).length, 2);
    assert.deepEqual(problems({ ...field(text), allOf: [{ anyOf: [{ properties: { b: {} } }] }] }), [
      's.properties[b]: Required value: because it is defined in s.allOf[0].anyOf[0].properties[b]',
    ]);
  });

  it('may speak of any field below the root, as upstream allows', () => {
    const below: JsonSchema = { type: 'object', anyOf: [{ properties: { b: { minimum: 1 } } }, { items: {} }] };
    assert.deepEqual(problems(field(below)), []);
    assert.deepEqual(problems(field({ type: 'array', items: below })), []);
  });

  it('may say the two types of a value that has two, in the two usual forms', () => {
    const types: JsonSchema[] = [{ type: 'integer' }, { type: 'string' }];
    assert.deepEqual(problems(field({ ...either, anyOf: types })), []);
    assert.deepEqual(problems(field({ ...either, allOf: [{ anyOf: types }, { minimum: 1 }] })), []);
    assert.equal(problems(field({ ...either, allOf: [{ minimum: 1 }, { anyOf: types }] })).length, 2);
    assert.equal(problems(field({ ...either, oneOf: types })).length, 2);
  });

  it('has patterns that Go has', () => {
    assert.equal(problems(field({ ...text, pattern: 'a+' })).length, 0);
    assert.match(
      problems(field({ ...text, pattern: '(' })).join(),
      /^s\.properties\[a\]\.pattern: Invalid value: "\("/,
    );
    assert.match(
      problems(field({ ...text, allOf: [{ pattern: '(' }] })).join(),
      /^s\.properties\[a\]\.allOf\[0\]\.pattern/,
    );
  });
});

describe('the items and other fields of a schema', () => {
  it('are schemas, or undefined for lists and booleans', () => {
    assert.deepEqual([itemsOf({ items: text }), itemsOf({ items: [text] }), itemsOf({})], [text, undefined, undefined]);
    assert.deepEqual(
      [additionalOf({ additionalProperties: text }), additionalOf({ additionalProperties: true }), additionalOf({})],
      [text, undefined, undefined],
    );
  });
});

describe('a path into a schema', () => {
  const schema = field({
    type: 'object',
    properties: { 'b.c': text },
    additionalProperties: { type: 'integer' },
  });

  it('leads to the schema of a field, by a name of its own or any', () => {
    assert.equal(schemaAtPath(schema, '.a'), schema.properties?.['a']);
    assert.equal(schemaAtPath(schema, ".a['b.c']"), text);
    assert.equal(schemaAtPath(schema, '.a["b.c"]'), text);
    assert.deepEqual(schemaAtPath(schema, '.a.any'), { type: 'integer' });
    assert.deepEqual(schemaAtPath(schema, '.a.toString'), { type: 'integer' });
  });

  it('is refused if the field does not exist or the path is invalid', () => {
    for (const path of ['.b', '.toString', '.a.any.deeper'])
      assert.equal(schemaAtPath(schema, path), 'does not refer to a valid field');
    for (const path of ['', '.1', '.a.', ".a['']", '.a b'])
      assert.equal(schemaAtPath(schema, path), 'must be a path of field names such as .spec.color', path);
    assert.equal(schemaAtPath(schema, 'a.b'), 'expected [ or . but got: a');
    assert.equal(schemaAtPath(schema, '.a[0]'), 'array notation is not allowed');
  });
});

describe("a definition's defaults", () => {
  const wrong = (schema: JsonSchema): string[] => {
    const errors = new FieldErrors();
    validateDefaults(errors, schema, 's');
    return errors.list.map(formatFieldError);
  };

  it('are values that their schemas accept, wherever they stand', () => {
    assert.deepEqual(wrong(field({ ...text, default: 'x' })), []);
    assert.deepEqual(wrong(field({ ...field({ ...text, default: 'x' }), default: {} })), []);
    const bad: JsonSchema = { ...text, default: 1 };
    const detail = (at: string): RegExp =>
      new RegExp(`^s\\.${at}\\.default: Invalid value: .*must be of type string: "integer"$`);
    assert.match(wrong(field(bad)).join(), detail('properties\\[a\\]'));
    assert.match(wrong({ type: 'array', items: bad }).join(), detail('items'));
    assert.deepEqual(wrong({ type: 'object', additionalProperties: bad }), [], 'upstream leaves maps alone');
  });

  it('are whole values: defaults inside them do not complete them', () => {
    const inner = { ...field({ ...text, default: 'x' }), required: ['a'] };
    assert.deepEqual(wrong(field({ ...inner, default: {} })), ['s.properties[a].default.a: Required value']);
  });

  it('of whole objects name their kind', () => {
    const embedded: JsonSchema = { type: 'object', 'x-kubernetes-embedded-resource': true, ...preserves };
    assert.deepEqual(wrong(field({ ...embedded, default: { x: 1 } })), [
      's.properties[a].default.apiVersion: Required value',
      's.properties[a].default.kind: Required value',
    ]);
    assert.deepEqual(wrong(field({ ...embedded, default: { apiVersion: 'v1', kind: 'Pod' } })), []);
  });

  it('may set the standard metadata fields', () => {
    assert.deepEqual(
      wrong({ type: 'object', properties: { metadata: { type: 'object', default: { name: 'x' } } } }),
      [],
    );
  });

  it('are whole and known: nothing that must be there is missing, and nothing would be dropped', () => {
    assert.deepEqual(wrong(field({ ...field(text), required: ['a'], default: {} })), [
      's.properties[a].default.a: Required value',
    ]);
    assert.match(
      wrong(field({ ...field(text), default: { b: 1 } })).join(),
      /^s\.properties\[a\]\.default: Invalid value: .*: must not have unknown fields$/,
    );
    assert.deepEqual(wrong(field({ ...field(text), ...preserves, default: { b: 1 } })), []);
    assert.match(
      wrong(field({ ...text, enum: ['x'], default: 'y' })).join(),
      /^s\.properties\[a\]\.default: Unsupported value: "y": supported values: "x"$/,
    );
    assert.match(
      wrong(field({ ...text, maxLength: 1, default: 'xy' })).join(),
      /Too long: may not be more than 1 bytes$/,
    );
  });

  it('are refused where there are too many of them', () => {
    const many = Array.from({ length: 19_999 }, () => 0);
    const list = (value: unknown[]): JsonSchema => field({ type: 'array', items: { type: 'integer' }, default: value });
    assert.deepEqual(wrong(list(many)), []);
    assert.deepEqual(wrong(list([...many, 0])), [
      's.properties[a].default: Forbidden: the defaults have more than 20000 values; shorten them',
    ]);
    const wide = field({ type: 'object', ...preserves, default: { list: many } });
    assert.match(wrong(wide).join(), /more than 20000 values/);
  });
});
