import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { formatFieldError } from '../validation/field-error.ts';
import { applySchemaDefaults } from './apply-schema-defaults.ts';
import { compileJsonPath } from './json-path.ts';
import { readJsonSchema } from './json-schema.ts';
import type { JsonSchema } from './json-schema.ts';
import { validateListTypes } from './list-types.ts';
import { prune } from './prune.ts';
import type { JsonObject } from './prune.ts';
import { compileSchema } from './schema-node.ts';
import { validateStructural } from './validate-structural.ts';
import { validateValue } from './validate-value.ts';

const problems = (value: unknown, schema: JsonSchema, old?: { readonly value: unknown }): readonly string[] =>
  validateValue(value, compileSchema(schema), old).map(formatFieldError);
const field = (schema: JsonSchema): JsonSchema => ({ type: 'object', properties: { a: schema } });

describe('values are refused in upstream’s words', () => {
  const cases: readonly [JsonSchema, unknown, string][] = [
    [{ type: 'integer' }, 'x', 'a: Invalid value: "string": a in body must be of type integer: "string"'],
    [{ type: 'string' }, null, 'a: Invalid value: "null": a in body must be of type string: "null"'],
    [{ type: 'integer' }, 1.5, 'a: Invalid value: "number": a in body must be of type integer: "number"'],
    [
      { 'x-kubernetes-int-or-string': true },
      true,
      'a: Invalid value: "boolean": a in body must be of type integer,string: "boolean"',
    ],
    [{ type: 'integer', minimum: 1 }, 0, 'a: Invalid value: 0: a in body should be greater than or equal to 1'],
    [{ type: 'number', maximum: 2, exclusiveMaximum: true }, 2, 'a: Invalid value: 2: a in body should be less than 2'],
    [{ type: 'number', multipleOf: 0.1 }, 0.25, 'a: Invalid value: 0.25: a in body should be a multiple of 0.1'],
    [{ type: 'string', minLength: 3 }, '😀😀', 'a: Invalid value: "😀😀": a in body should be at least 3 chars long'],
    [{ type: 'string', maxLength: 1 }, 'ab', 'a: Too long: may not be more than 1 bytes'],
    [{ type: 'string', pattern: '^x' }, 'ax', `a: Invalid value: "ax": a in body should match '^x'`],
    [{ type: 'string', enum: ['x', 'y'] }, 'z', 'a: Unsupported value: "z": supported values: "x", "y"'],
    [
      { type: 'string', format: 'date-time' },
      'now',
      'a: Invalid value: "now": a in body must be of type date-time: "now"',
    ],
    [{ type: 'array', maxItems: 1, items: {} }, [1, 2], 'a: Too many: 2: must have at most 1 items'],
    [{ type: 'array', minItems: 2, items: {} }, [], 'a: Invalid value: 0: a in body should have at least 2 items'],
    [
      { type: 'array', items: { type: 'string' } },
      ['x', 1],
      'a[1]: Invalid value: "integer": a[1] in body must be of type string: "integer"',
    ],
    [{ type: 'object', required: ['b'] }, {}, 'a.b: Required value'],
    [
      { type: 'object', additionalProperties: { type: 'string' } },
      { k: 1 },
      'a.k: Invalid value: "integer": a.k in body must be of type string: "integer"',
    ],
    [
      { anyOf: [{ minimum: 5 }, { maximum: 1 }] },
      3,
      '<nil>: Invalid value: "": "a" must validate at least one schema (anyOf)',
    ],
    [
      { oneOf: [{ required: ['x'] }, { required: ['y'] }] },
      { x: 1, y: 1 },
      '<nil>: Invalid value: "": "a" must validate one and only one schema (oneOf). Found 2 valid alternatives',
    ],
    [{ not: { enum: [1] } }, 1, '<nil>: Invalid value: "": "a" must not validate the schema (not)'],
  ];
  for (const [schema, value, text] of cases)
    it(text, () =>
      assert.ok(problems({ a: value }, field(schema)).includes(text), problems({ a: value }, field(schema)).join('\n')),
    );

  it('accepts null for nullable fields, integers for numbers, and unknown formats', () => {
    const schema = field({
      type: 'object',
      properties: { n: { type: 'number', nullable: true }, f: { type: 'string', format: 'odd' } },
    });
    assert.deepEqual([problems({ a: { n: null, f: 'x' } }, schema), problems({ a: { n: 3 } }, schema)], [[], []]);
  });
});

describe('ratcheting', () => {
  const schema: JsonSchema = {
    type: 'object',
    properties: {
      a: { type: 'string', maxLength: 1 },
      b: { type: 'string' },
      list: {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['k'],
        items: { type: 'object', properties: { k: { type: 'string' }, v: { type: 'string', maxLength: 1 } } },
      },
    },
  };
  it('lets a part that was wrong before stay as it was, and refuses it once it changes', () => {
    assert.deepEqual(problems({ a: 'long', b: 'y' }, schema, { value: { a: 'long', b: 'x' } }), []);
    assert.deepEqual(problems({ a: 'longer' }, schema, { value: { a: 'long' } }).length, 1);
  });
  it('finds elements again by their keys, wherever they stand', () => {
    const old = { list: [{ k: 'x', v: 'long' }, { k: 'y' }] };
    assert.deepEqual(problems({ list: [{ k: 'y' }, { k: 'x', v: 'long' }] }, schema, { value: old }), []);
    assert.deepEqual(problems({ list: [{ k: 'y', v: 'long' }] }, schema, { value: old }).length, 1);
  });
});

describe('hostile schemas', () => {
  it('that multiply alternatives are given up, in bounded time', () => {
    let schema: JsonSchema = { enum: [0] };
    for (let level = 0; level < 5; level++)
      schema = { anyOf: Array.from({ length: 8 }, () => ({ properties: { a: schema } })) };
    let value: unknown = 1;
    for (let level = 0; level < 5; level++) value = { a: value };
    const items = Array.from({ length: 500 }, () => value);
    const [only] = problems({ a: items }, field({ type: 'array', items: schema }));
    assert.match(String(only), /^<nil>: Invalid value: the value and its schema need more than \d+ checks/);
  });
  it('with patterns that would backtrack cost no more than others', () => {
    const schema = field({ type: 'string', pattern: '^(a+)+$' });
    assert.equal(problems({ a: `${'a'.repeat(50_000)}b` }, schema).length, 1);
  });
  it('with patterns of many states are tried on less text than others', () => {
    const large = field({ type: 'string', pattern: '(a|b|ab){900}c' });
    const small = field({ type: 'string', pattern: '^([a-z0-9]+[.])*[a-z]+$' });
    assert.match(problems({ a: `c${'ab'.repeat(5000)}` }, large).join(), /a pattern of the schema could take too long/);
    assert.deepEqual(problems({ a: `${'ab.'.repeat(200_000)}ab` }, small), []);
    assert.match(problems({ a: 'ab.'.repeat(400_000) }, small).join(), /need more than \d+ checks/);
  });
  it('with patterns that Go does not have are not structural', () => {
    const found = validateStructural(field({ type: 'string', pattern: '(?=a)' }), 's');
    assert.match(
      found.map(formatFieldError).join(),
      /^s\.properties\[a\]\.pattern: .*must be a valid regular expression/,
    );
  });
});

describe('structural schemas', () => {
  const cases: readonly [JsonSchema, string][] = [
    [{}, 's.type: Required value: must not be empty at the root'],
    [{ type: 'array', items: {} }, 's.type: Invalid value: "array": must be object at the root'],
    [field({}), 's.properties[a].type: Required value: must not be empty for specified object fields'],
    [field({ type: 'array' }), 's.properties[a].items: Required value: must be specified'],
    [
      field({ type: 'string', anyOf: [{ type: 'string' }] }),
      's.properties[a].anyOf[0].type: Forbidden: must be empty to be structural',
    ],
    [
      { type: 'object', anyOf: [{ properties: { b: {} } }] },
      's.properties[b]: Required value: because it is defined in s.anyOf[0].properties[b]',
    ],
    [
      { type: 'object', properties: { metadata: { type: 'object', properties: { labels: { type: 'object' } } } } },
      's.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified',
    ],
    [{ type: 'object', additionalProperties: true }, 's.additionalProperties: Forbidden: must not be used at the root'],
  ];
  for (const [schema, text] of cases)
    it(text, () => assert.ok(validateStructural(schema, 's').map(formatFieldError).includes(text)));
  it('int-or-string may say so by its alternatives', () => {
    const anyOf = [{ type: 'integer' }, { type: 'string' }];
    assert.deepEqual(validateStructural(field({ 'x-kubernetes-int-or-string': true, anyOf }), 's'), []);
  });
});

const schema: JsonSchema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      default: {},
      properties: {
        a: { type: 'string', default: 'x' },
        b: { type: 'array', items: { type: 'object', properties: { c: { type: 'integer', default: 1 } } } },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { d: { type: 'object' } } },
        map: { type: 'object', additionalProperties: { type: 'object', properties: { e: { type: 'string' } } } },
      },
    },
  },
};
const root = compileSchema(schema);

describe('pruning and defaulting', () => {
  it('drops what is unknown and names it, but not where anything may stand', () => {
    const dropped: string[] = [];
    const value = {
      kind: 'X',
      metadata: { any: 1 },
      spec: { a: 'y', z: 1, b: [{ c: 1, d: 2 }], free: { q: { r: 1 }, d: { s: 1 } }, map: { k: { e: '', f: 1 } } },
      odd: 1,
    };
    assert.deepEqual(prune(value, root, dropped), {
      kind: 'X',
      metadata: { any: 1 },
      spec: { a: 'y', b: [{ c: 1 }], free: { q: { r: 1 }, d: {} }, map: { k: { e: '' } } },
    });
    assert.deepEqual(dropped.sort(), ['odd', 'spec.b[0].d', 'spec.free.d.s', 'spec.map.k.f', 'spec.z']);
  });
  it('fills in what is missing, also inside of defaults, and takes null for missing', () => {
    assert.deepEqual(applySchemaDefaults({}, root), { spec: { a: 'x' } });
    assert.deepEqual(applySchemaDefaults({ spec: { a: null, b: [{}], map: null } }, root), {
      spec: { a: 'x', b: [{ c: 1 }] },
    });
  });
  it('give back the very value when there is nothing to do, and change nothing the second time', () => {
    const key = fc.constantFrom('spec', 'a', 'b', 'c', 'd', 'e', 'free', 'map', 'kind', 'metadata', '__proto__');
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'medium' },
        fc.constantFrom<unknown>(null, 1, 'x', true),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
      ),
    }));
    const object = fc.dictionary(key, value, { maxKeys: 5, noNullPrototype: true });
    fc.assert(
      fc.property(object, (given) => {
        const once = applySchemaDefaults(prune(given as JsonObject, root), root);
        assert.equal(prune(once, root), once);
        assert.equal(applySchemaDefaults(once, root), once);
      }),
      { numRuns: 300 },
    );
  });
});

it('elements that stand twice in sets and maps are named once', () => {
  const lists = compileSchema({
    type: 'object',
    properties: {
      set: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
      map: {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['k'],
        items: { type: 'object' },
      },
    },
  });
  const found = validateListTypes({ set: ['a', 'a', 'a'], map: [{ k: 1 }, { k: 1, v: 2 }] }, lists);
  assert.deepEqual(found.map(formatFieldError), ['set[1]: Duplicate value: "a"', 'map[1]: Duplicate value: {"k":1}']);
});

it('the JSON of a schema loses unknown fields, and says which values are of a wrong type', () => {
  const { schema: read, problems: found } = readJsonSchema({
    type: 'object',
    odd: 1,
    description: '',
    properties: { a: { type: 1, maxLength: 'x' } },
  });
  assert.deepEqual(read, { type: 'object', properties: { a: {} } });
  assert.deepEqual(
    found.map(({ kind, path }) => `${kind} ${path}`),
    ['unknownField .odd', 'wrongType .properties[a].type', 'wrongType .properties[a].maxLength'],
  );
});

it('paths of printer columns find fields, indexes and filtered elements, and nothing for other forms', () => {
  const object = {
    spec: {
      'a.b': 1,
      list: [
        { n: 'x', v: 1 },
        { n: 'y', v: 2 },
      ],
    },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  };
  const find = (path: string): unknown => compileJsonPath(path)(object);
  assert.deepEqual(
    [
      find('.spec.a\\.b'),
      find(".spec['a.b']"),
      find('.spec.list[1].n'),
      find('.spec.list[-1].v'),
      find('.spec.list[*].n'),
      find('.status.conditions[?(@.type=="Ready")].status'),
      find('.spec.list[?(@.v>1)].n'),
      find('.nothing.at.all'),
      find('.spec['),
    ],
    [1, 1, 'y', 2, 'x', 'True', 'y', undefined, undefined],
  );
});
