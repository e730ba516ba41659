import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatFieldError } from '../validation/field-error.ts';
import type { JsonSchema } from './json-schema.ts';
import { compileSchema } from './schema-node.ts';
import { validateValue } from './validate-value.ts';

const text: JsonSchema = { type: 'string' };
const short: JsonSchema = { type: 'string', maxLength: 1 };
const tooLong = (path: string): string => `${path}: Too long: may not be more than 1 bytes`;
const of = (properties: Readonly<Record<string, JsonSchema>>, more: JsonSchema = {}): JsonSchema => ({
  type: 'object',
  properties,
  ...more,
});
const problems = (value: unknown, schema: JsonSchema, ...old: unknown[]): string[] =>
  validateValue(value, compileSchema(schema), old.length === 0 ? undefined : { value: old[0] }).map(formatFieldError);
const typeError = (path: string, type: string, found: string): string =>
  `${path}: Invalid value: "${found}": ${path} in body must be of type ${type}: "${found}"`;

describe('a value of a type', () => {
  it('may be null where that is allowed, and a whole number where a number is', () => {
    const schema = of({ a: { ...text, nullable: true }, n: { type: 'number' }, i: { type: 'integer' } });
    assert.deepEqual(problems({ a: null, n: 1, i: 2n }, schema), []);
    assert.deepEqual(problems({ a: 1, n: 'x', i: 1.5 }, schema), [
      typeError('a', 'string', 'integer'),
      typeError('n', 'number', 'string'),
      typeError('i', 'integer', 'number'),
      '<nil>: Invalid value: "": Checked value must be of type integer (default format) in i',
    ]);
    assert.deepEqual(problems({ n: null }, schema), [typeError('n', 'number', 'null')]);
  });

  it('may be anything where the schema says no type', () => {
    for (const value of [null, 1, 'x', [], {}]) assert.deepEqual(problems({ a: value }, of({ a: {} })), []);
  });

  it('may be two types at once, and null in neither', () => {
    const either = of({ a: { 'x-kubernetes-int-or-string': true } });
    assert.deepEqual([problems({ a: 1 }, either), problems({ a: '1' }, either)], [[], []]);
    assert.deepEqual(problems({ a: null }, either), [typeError('a', 'integer,string', 'null')]);
  });

  it('has a format only where it is a text', () => {
    assert.deepEqual(problems({ a: 'x' }, of({ a: { type: 'string', format: 'ipv4' } })), [
      'a: Invalid value: "x": a in body must be of type ipv4: "x"',
    ]);
    assert.deepEqual(problems({ a: 'x' }, of({ a: { format: 'ipv4' } })).length, 1);
    assert.deepEqual(problems({ a: 'x' }, of({ a: { 'x-kubernetes-int-or-string': true, format: 'ipv4' } })).length, 1);
  });
});

describe('lists and objects', () => {
  it('have as many members as allowed, limits included', () => {
    const list: JsonSchema = { type: 'array', items: {}, minItems: 1, maxItems: 2 };
    const sizes = (schema: JsonSchema, ...values: unknown[]): number[] =>
      values.map((a) => problems({ a }, of({ a: schema })).length);
    assert.deepEqual(sizes(list, [], [1], [1, 2], [1, 2, 3]), [1, 0, 0, 1]);
    const object: JsonSchema = { type: 'object', minProperties: 1, maxProperties: 2 };
    assert.deepEqual(sizes(object, {}, { a: 1 }, { a: 1, b: 1 }, { a: 1, b: 1, c: 1 }), [1, 0, 0, 1]);
    assert.deepEqual(problems({ a: {} }, of({ a: object })), [
      'a: Invalid value: 0: a in body should have at least 1 properties',
    ]);
    assert.deepEqual(problems({ a: { a: 1, b: 1, c: 1 } }, of({ a: object })), [
      'a: Too many: 3: must have at most 2 items',
    ]);
  });

  it('repeat no element where each is to be unique', () => {
    const unique = of({ a: { type: 'array', items: {}, uniqueItems: true } });
    assert.deepEqual(
      problems(
        {
          a: [
            { x: 1, y: 1 },
            { y: 1, x: 2 },
          ],
        },
        unique,
      ),
      [],
    );
    assert.deepEqual(
      problems(
        {
          a: [
            { x: 1, y: 1 },
            { y: 1, x: 1 },
          ],
        },
        unique,
      ),
      [`a: Invalid value: "": a in body shouldn't contain duplicates`],
    );
    assert.deepEqual(problems({ a: [1, 1] }, of({ a: { type: 'array', items: {}, uniqueItems: false } })), []);
  });

  it('have the members that must be there, also at the root', () => {
    assert.deepEqual(problems({}, of({}, { required: ['a', 'b'] })), ['a: Required value', 'b: Required value']);
    assert.deepEqual(problems({ a: { b: {} } }, of({ a: of({ b: of({}, { required: ['c'] }) }) })), [
      'a.b.c: Required value',
    ]);
    assert.deepEqual(problems({ toString: 1 }, of({}, { required: ['toString'] })), []);
    assert.deepEqual(problems({}, of({}, { required: ['toString'] })), ['toString: Required value']);
  });

  it('are checked to their ends, with the path of each fault', () => {
    const schema = of({ a: { type: 'array', items: of({ b: { type: 'object', additionalProperties: short } }) } });
    assert.deepEqual(problems({ a: [{ b: { x: 'xx' } }, { b: { y: 'y', z: 'zz' } }] }, schema), [
      tooLong('a[0].b.x'),
      tooLong('a[1].b.z'),
    ]);
  });
});

describe('alternatives', () => {
  const any = (...anyOf: JsonSchema[]): JsonSchema => of({ a: { anyOf } });
  const one = (...oneOf: JsonSchema[]): JsonSchema => of({ a: { oneOf } });
  const all = (...allOf: JsonSchema[]): JsonSchema => of({ a: { allOf } });
  const failed = (detail: string): string => `<nil>: Invalid value: "": "a" ${detail}`;

  it('of which any is enough report the one that comes closest', () => {
    assert.deepEqual(problems({ a: 3 }, any({ minimum: 5 }, { minimum: 2 })), []);
    assert.deepEqual(problems({ a: { k: 'xx' } }, any({ type: 'string' }, of({ k: short }))), [
      failed('must validate at least one schema (anyOf)'),
      tooLong('a.k'),
    ]);
    assert.deepEqual(problems({ a: { k: 'xx' } }, any(of({ k: short }), { type: 'string' })), [
      failed('must validate at least one schema (anyOf)'),
      tooLong('a.k'),
    ]);
  });

  it('of which one is to hold report none and more than one', () => {
    const detail = 'must validate one and only one schema (oneOf).';
    assert.deepEqual(problems({ a: 3 }, one({ minimum: 5 }, { minimum: 2 })), []);
    assert.deepEqual(problems({ a: 7 }, one({ minimum: 5 }, { minimum: 2 })), [
      failed(`${detail} Found 2 valid alternatives`),
    ]);
    assert.deepEqual(problems({ a: { k: 'xx' } }, one({ type: 'string' }, of({ k: short }))), [
      failed(`${detail} Found none valid`),
      tooLong('a.k'),
    ]);
  });

  it('of which all are to hold report each that does not', () => {
    assert.deepEqual(problems({ a: 3 }, all({ minimum: 2 }, { maximum: 4 })), []);
    assert.deepEqual(problems({ a: 'xx' }, all(short, { minLength: 1 })), [
      tooLong('a'),
      failed('must validate all the schemas (allOf)'),
    ]);
    assert.deepEqual(problems({ a: 'xx' }, all(short)), [
      tooLong('a'),
      failed('must validate all the schemas (allOf). None validated'),
    ]);
  });

  it('that must not hold are refused when they do', () => {
    const not = of({ a: { not: { minimum: 5 } } });
    assert.deepEqual(problems({ a: 3 }, not), []);
    assert.deepEqual(problems({ a: 5 }, not), [failed('must not validate the schema (not)')]);
  });

  it('do not concern null', () => {
    assert.deepEqual(problems({ a: null }, of({ a: { nullable: true, anyOf: [{ required: ['x'] }], not: {} } })), []);
  });
});

describe('an enumeration', () => {
  it('has values of any type, compared as a whole, null among them', () => {
    const schema = of({ a: { enum: [1, 'x', null, { k: 1, l: 2 }] } });
    for (const value of [1, 'x', null, { l: 2, k: 1 }]) assert.deepEqual(problems({ a: value }, schema), []);
    assert.deepEqual(problems({ a: { k: 1 } }, schema).length, 1);
    assert.match(problems({ a: 'y' }, schema).join(), /supported values: "1", "x", "null", "\{.*k.*l.*\}"$/);
  });
});

describe('an update', () => {
  const schema = of({
    kind: short,
    apiVersion: short,
    a: short,
    deep: of({ kind: short, b: short }),
    plain: { type: 'array', items: short },
    map: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['k'],
      items: of({ k: text, v: short }),
    },
  });

  it('may keep an old invalid value at any path', () => {
    const old = { a: 'xx', deep: { b: 'xx', kind: 'xx' } };
    assert.deepEqual(problems(old, schema, old), []);
    assert.deepEqual(problems({ ...old, plain: ['x'] }, schema, structuredClone(old)), []);
    assert.deepEqual(problems({ deep: { b: 'xx', kind: 'x' } }, schema, old), []);
    assert.deepEqual(problems({ deep: { b: 'xxx', kind: 'xx' } }, schema, old), [tooLong('deep.b')]);
  });

  it('reports a fault that the old object does not have in the same field', () => {
    assert.deepEqual(problems({ a: 'xx' }, schema, { a: 'x' }), [tooLong('a')]);
    assert.deepEqual(problems({ a: 'xx' }, schema, {}), [tooLong('a')]);
    assert.deepEqual(problems({ a: 'xx' }, schema, 'no object'), [tooLong('a')]);
    assert.deepEqual(problems({ a: 'xx' }, schema, { toString: 'xx' }), [tooLong('a')]);
  });

  it('is not lenient with the kind and the version, which the request sets', () => {
    const old = { kind: 'xx', apiVersion: 'xx' };
    assert.deepEqual(problems({ ...old, a: 'x' }, schema, old), [tooLong('kind'), tooLong('apiVersion')]);
  });

  it('finds the elements of a map again by their keys, and those of other lists not at all', () => {
    const old = { map: [{ k: 'x', v: 'xx' }, { k: 'y' }, { v: 'yy' }], plain: ['xx', 'y'] };
    assert.deepEqual(problems({ map: [{ k: 'z' }, { k: 'x', v: 'xx' }, { v: 'yy' }] }, schema, old), []);
    assert.deepEqual(problems({ map: [{ k: 'y', v: 'xx' }] }, schema, old), [tooLong('map[0].v')]);
    assert.deepEqual(problems({ plain: ['xx'] }, schema, old), [tooLong('plain[0]')]);
    assert.deepEqual(problems({ map: [{ k: 'x', v: 'xx' }] }, schema, { map: 'text' }), [tooLong('map[0].v')]);
  });
});

it('a value that needs too many checks is refused as a whole, however simple its schema', () => {
  const list = (length: number): unknown => ({ a: Array.from({ length }, () => 'x') });
  const schema = of({ a: { type: 'array', items: short } });
  assert.deepEqual(problems(list(399_000), schema), []);
  const [only, ...more] = problems(list(400_001), schema);
  assert.match(
    only ?? '',
    /^<nil>: Invalid value: the value and its schema need more than 400000 checks; use a smaller value/,
  );
  assert.deepEqual(more, []);
});

it('a pattern counts by the length of its text, and a large one is tried on short texts only', () => {
  const matched = (pattern: string, texts: number, length: number): string =>
    problems(
      { a: Array.from({ length: texts }, () => 'a'.repeat(length)) },
      of({ a: { type: 'array', items: { type: 'string', pattern } } }),
    ).join();
  const tooMany = /need more than 400000 checks/;
  assert.deepEqual([matched('a+', 100, 900), matched('a{400}', 10, 900)], ['', '']);
  assert.match(matched('a+', 2, 900_000), tooMany);
  assert.match(matched('a{900}', 1, 9000), /a pattern of the schema could take too long for the texts/);
});
