import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatType } from '../../cel/types.ts';
import { baseEnvironment } from './environment.ts';
import type { RuleSchema } from './schema-types.ts';
import { estimateMostElements, schemaType } from './schema-types.ts';
import { evaluate, faultOf } from './testing/evaluate-expression.ts';

const TEXT_LIMIT = 3 * 1024 * 1024 - 2;
const made = (schema: RuleSchema, isRoot = false): NonNullable<ReturnType<typeof schemaType>> => {
  const found = schemaType(schema, isRoot);
  assert.ok(found !== undefined);
  return found;
};
const judge = (source: string, schema: RuleSchema, raw: unknown): unknown => {
  const { type, adapt } = made(schema);
  return evaluate(source, { self: adapt(raw) }, baseEnvironment.withVariables({ self: type }));
};
const canRead = (source: string, schema: RuleSchema, isRoot: boolean): boolean =>
  faultOf(source, baseEnvironment.withVariables({ self: made(schema, isRoot).type })) === undefined;

describe('the type of a schema', () => {
  it('is that of its values', () => {
    const types: readonly (readonly [RuleSchema, string])[] = [
      [{ type: 'boolean' }, 'bool'],
      [{ type: 'integer' }, 'int'],
      [{ type: 'number' }, 'double'],
      [{ type: 'string' }, 'string'],
      [{ type: 'string', format: 'byte' }, 'bytes'],
      [{ type: 'string', format: 'date' }, 'google.protobuf.Timestamp'],
      [{ type: 'string', format: 'date-time' }, 'google.protobuf.Timestamp'],
      [{ type: 'string', format: 'duration' }, 'google.protobuf.Duration'],
      [{ type: 'string', format: 'email' }, 'string'],
      [{ 'x-kubernetes-int-or-string': true }, 'dyn'],
      [{ type: 'array', items: { type: 'integer' } }, 'list(int)'],
      [{ type: 'object', additionalProperties: { type: 'integer' } }, 'map(string, int)'],
      [{ type: 'object' }, 'object'],
      [{ type: 'object', additionalProperties: true }, 'object'],
    ];
    for (const [schema, name] of types) assert.equal(formatType(made(schema).type), name, JSON.stringify(schema));
  });

  it('is none where expressions cannot see the values', () => {
    for (const schema of [
      {},
      { 'x-kubernetes-preserve-unknown-fields': true },
      { type: 'array' },
      { type: 'array', items: {} },
      { type: 'object', additionalProperties: {} },
    ])
      assert.equal(schemaType(schema, false), undefined, JSON.stringify(schema));
    assert.equal(canRead('self.hidden == 1', { type: 'object', properties: { hidden: {} } }, false), false);
  });

  it('has the fields of a resource only for a resource', () => {
    const source = "self.kind == 'K' && self.apiVersion == 'v1' && self.metadata.generateName == self.metadata.name";
    const schema = { type: 'object', properties: { spec: { type: 'integer' } } };
    assert.equal(canRead(source, schema, true), true);
    assert.equal(canRead('self.spec == 1', schema, true), true);
    assert.equal(canRead('self.metadata.labels.size() == 0', schema, true), false);
    assert.equal(canRead('self.kind == "K"', schema, false), false);
    const within = (embedded: boolean): RuleSchema => ({
      type: 'object',
      properties: { template: { type: 'object', 'x-kubernetes-embedded-resource': embedded } },
    });
    assert.equal(canRead("self.template.kind == 'K'", within(true), false), true);
    assert.equal(canRead("self.template.kind == 'K'", within(false), false), false);
  });

  it('reads more of metadata only where the schema declares all that a resource has', () => {
    const text = { type: 'string' };
    const names = { name: text, generateName: text, uid: text };
    const whole = { kind: text, apiVersion: text, metadata: { type: 'object', properties: names } };
    const reads = (properties: RuleSchema['properties']): boolean =>
      canRead("self.metadata.uid == ''", { type: 'object', properties: properties ?? {} }, true);
    assert.equal(reads(whole), true);
    const number = { type: 'integer' };
    for (const part of ['kind', 'apiVersion']) assert.equal(reads({ ...whole, [part]: number }), false, part);
    for (const part of ['name', 'generateName']) {
      const metadata = { type: 'object', properties: { ...names, [part]: number } };
      assert.equal(reads({ ...whole, metadata }), false, part);
    }
    assert.equal(reads({ kind: text, apiVersion: text, metadata: { type: 'object' } }), false);
  });
});

describe('a value of a schema', () => {
  it('is read by the type of the schema', () => {
    const cases: readonly (readonly [string, RuleSchema, unknown])[] = [
      ['self / 2.0 == 1.5', { type: 'number' }, 3],
      ['self / 2.0 == 1.5', { type: 'number' }, 3n],
      ['self == 1.5', { type: 'number' }, 1.5],
      ["self == b'hi'", { type: 'string', format: 'byte' }, 'aGk='],
      ['self.getDate() == 6', { type: 'string', format: 'date' }, '2024-05-06'],
      ['self.getHours() == 7', { type: 'string', format: 'date-time' }, '2024-05-06T07:00:00Z'],
      ["self == duration('90s')", { type: 'string', format: 'duration' }, '1m30s'],
      ['dyn(self) == null', { type: 'string', nullable: true }, null],
      ["self == 'a'", { type: 'string', nullable: true }, 'a'],
      ["self == 'a'", { 'x-kubernetes-int-or-string': true }, 'a'],
      ["self['a'] / 2.0 == 1.5", { type: 'object', additionalProperties: { type: 'number' } }, { a: 3 }],
    ];
    for (const [source, schema, raw] of cases) assert.equal(judge(source, schema, raw), true, source);
  });

  it('is what it is where it does not fit its schema', () => {
    const record = { type: 'object', additionalProperties: { type: 'number' } };
    for (const schema of [
      record,
      { type: 'object' },
      { type: 'array', items: { type: 'integer' } },
      { type: 'number' },
    ])
      for (const raw of ['a', null, true]) assert.equal(made(schema).adapt(raw), raw, JSON.stringify(schema));
    assert.equal(judge('dyn(self)[0]', record, [3]), 3n);
    assert.equal(judge('dyn(self)[0]', { type: 'object' }, [3]), 3n);
    for (const format of ['date', 'date-time', 'duration', 'byte']) {
      assert.equal(made({ type: 'string', format }).adapt('*'), '*', format);
      assert.equal(made({ type: 'string', format }).adapt(2), 2n, format);
    }
  });

  it('has fields by their escaped names, and none that cannot be escaped', () => {
    const integer = { type: 'integer' };
    const schema = { type: 'object', properties: { 'a.b': integer, c$d: integer, plain: integer } };
    assert.equal(judge('self.a__dot__b + self.plain', schema, { 'a.b': 1, plain: 2 }), 3n);
    assert.equal(canRead('dyn(self).undefined == 1', schema, false), true);
    assert.equal(judge('has(dyn(self).undefined)', schema, { c$d: 1 }), false);
  });
});

describe('the size estimate', () => {
  const most = (schema: RuleSchema): number | undefined => estimateMostElements(schema);

  it('is the bound of the schema', () => {
    assert.equal(most({ type: 'array', maxItems: 7, items: { type: 'integer' } }), 7);
    assert.equal(most({ type: 'array', maxItems: -1, items: { type: 'integer' } }), 0);
    assert.equal(most({ type: 'object', maxProperties: 7, additionalProperties: { type: 'integer' } }), 7);
    assert.equal(most({ type: 'object', maxProperties: -1, additionalProperties: { type: 'integer' } }), 0);
    assert.equal(most({ type: 'string', maxLength: 7 }), 28);
    assert.equal(most({ type: 'string', maxLength: -1 }), 0);
    assert.equal(most({ type: 'string', format: 'byte', maxLength: 7 }), 7);
    assert.equal(most({ 'x-kubernetes-int-or-string': true, maxLength: 7 }), 28);
    assert.equal(most({ type: 'string', enum: ['a', 'abc', 3] }), 3);
  });

  it('is what a request can hold where there is no bound', () => {
    const list = (items: RuleSchema): number | undefined => most({ type: 'array', items });
    const map = (additionalProperties: RuleSchema): number | undefined =>
      most({ type: 'object', additionalProperties });
    assert.equal(list({ type: 'integer' }), Math.floor(TEXT_LIMIT / 2));
    assert.equal(list({ type: 'number' }), Math.floor(TEXT_LIMIT / 2));
    assert.equal(list({ type: 'string' }), Math.floor(TEXT_LIMIT / 3));
    assert.equal(list({ type: 'string', format: 'byte' }), Math.floor(TEXT_LIMIT / 3));
    assert.equal(list({ type: 'string', format: 'date' }), Math.floor(TEXT_LIMIT / 13));
    assert.equal(list({ type: 'string', format: 'date-time' }), Math.floor(TEXT_LIMIT / 22));
    assert.equal(list({ type: 'string', format: 'duration' }), Math.floor(TEXT_LIMIT / 4));
    assert.equal(list({ 'x-kubernetes-int-or-string': true }), Math.floor(TEXT_LIMIT / 2));
    assert.equal(list({ type: 'array', items: { type: 'integer' } }), Math.floor(TEXT_LIMIT / 3));
    assert.equal(map({ type: 'boolean' }), Math.floor(TEXT_LIMIT / 10));
    assert.equal(list({ type: 'object', additionalProperties: { type: 'integer' } }), Math.floor(TEXT_LIMIT / 3));
    assert.equal(most({ type: 'string' }), TEXT_LIMIT);
    assert.equal(most({ type: 'string', enum: [] }), TEXT_LIMIT);
    assert.equal(most({ type: 'string', format: 'byte' }), TEXT_LIMIT);
    assert.equal(most({ type: 'string', format: 'date' }), 12);
    assert.equal(most({ 'x-kubernetes-int-or-string': true }), TEXT_LIMIT);
  });

  it('counts fields that must be written and have no default', () => {
    const properties = { abc: { type: 'integer' }, d: { type: 'integer', default: 1 }, e: { type: 'integer' } };
    const items = { type: 'object', properties, required: ['abc', 'd'] };
    assert.equal(made(items).leastBytes, 2 + 'abc'.length + 1 + 4);
    assert.equal(most({ type: 'array', items }), Math.floor(TEXT_LIMIT / (made(items).leastBytes + 1)));
  });

  it('is none for values that have no size, and for those that cannot be seen', () => {
    for (const schema of [{ type: 'integer' }, { type: 'object' }, {}]) assert.equal(most(schema), undefined);
  });
});
