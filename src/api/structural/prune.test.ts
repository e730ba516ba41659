import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatFieldError } from '../validation/field-error.ts';
import type { JsonSchema } from './json-schema.ts';
import { validateListTypes } from './list-types.ts';
import type { JsonObject } from './prune.ts';
import { prune } from './prune.ts';
import { compileSchema } from './schema-node.ts';

const text: JsonSchema = { type: 'string' };
const known: JsonSchema = { type: 'object', properties: { k: text } };
const preserves: JsonSchema = { 'x-kubernetes-preserve-unknown-fields': true };
const of = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({ type: 'object', properties });

function pruned(value: JsonObject, schema: JsonSchema): readonly [value: unknown, dropped: readonly string[]] {
  const dropped: string[] = [];
  const kept = prune(value, compileSchema(schema), dropped);
  assert.deepEqual(prune(value, compileSchema(schema)), kept, 'the same without names of what was dropped');
  assert.equal(prune(kept, compileSchema(schema)), kept, 'a second time changes nothing');
  return [kept, dropped];
}

describe('pruning', () => {
  it('drops unknown fields in objects, lists and maps, and names each with its path', () => {
    const schema = of({
      o: known,
      list: { type: 'array', items: known },
      map: { type: 'object', additionalProperties: known },
      any: { type: 'object', additionalProperties: true },
      bare: { type: 'array' },
    });
    const odd = { k: 'x', odd: 1 };
    assert.deepEqual(
      pruned(
        { o: odd, list: [{ k: 'x' }, odd], map: { m: odd }, any: { m: 'x', n: odd }, bare: [{ k: 'x' }], z: 1 },
        schema,
      ),
      [
        { o: { k: 'x' }, list: [{ k: 'x' }, { k: 'x' }], map: { m: { k: 'x' } }, any: { m: 'x', n: {} }, bare: [{}] },
        ['o.odd', 'list[1].odd', 'map.m.odd', 'any.n.k', 'any.n.odd', 'bare[0].k', 'z'],
      ],
    );
  });

  it('keeps the fields of every object at the root and in whole objects, and elsewhere not', () => {
    const meta = { apiVersion: 'v1', kind: 'X', metadata: { odd: 1 } };
    const embedded: JsonSchema = { ...known, 'x-kubernetes-embedded-resource': true };
    const schema = of({ one: embedded, list: { type: 'array', items: embedded }, plain: known });
    assert.deepEqual(pruned({ ...meta, one: { ...meta, odd: 1 }, list: [meta], plain: meta }, schema), [
      { ...meta, one: meta, list: [meta], plain: {} },
      ['one.odd', 'plain.apiVersion', 'plain.kind', 'plain.metadata'],
    ]);
  });

  it('keeps unknown fields where the schema says so, and prunes the known ones among them', () => {
    const schema = of({ o: { ...of({ inner: known }), ...preserves }, list: { type: 'array', ...preserves } });
    assert.deepEqual(pruned({ o: { odd: { x: 1 }, inner: { odd: 1 } }, list: [{ odd: 1 }] }, schema), [
      { o: { odd: { x: 1 }, inner: {} }, list: [{ odd: 1 }] },
      ['o.inner.odd'],
    ]);
    const both = of({ list: { type: 'array', ...preserves, items: known } });
    assert.deepEqual(pruned({ list: [{ odd: 1 }] }, both)[0], { list: [{}] });
    const closed = of({ o: { type: 'object', additionalProperties: false } });
    assert.deepEqual(pruned({ o: { odd: 1 } }, closed), [{ o: {} }, ['o.odd']]);
  });

  it('gives back the very value where nothing is dropped, and changes none that is given', () => {
    const value = { o: { k: 'x' }, text: 'x' };
    const schema = of({ o: known, text });
    assert.equal(pruned(value, schema)[0], value);
    const odd = { o: { k: 'x', odd: 1 } };
    pruned(odd, schema);
    assert.deepEqual(odd, { o: { k: 'x', odd: 1 } });
  });

  it('names a hundred dropped fields at most', () => {
    const many = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`f${index}`, 1]));
    const [kept, dropped] = pruned(many, of({}));
    assert.deepEqual([kept, dropped.length], [{}, 100]);
  });
});

describe('lists that are sets or maps', () => {
  const set: JsonSchema = { type: 'array', items: {}, 'x-kubernetes-list-type': 'set' };
  const map: JsonSchema = {
    type: 'array',
    items: of({ name: text, port: { type: 'integer' } }),
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['name', 'port'],
  };
  const problems = (value: unknown, schema: JsonSchema): string[] =>
    validateListTypes({ a: value }, compileSchema(of({ a: schema }))).map(formatFieldError);

  it('have each element once; only the second is named', () => {
    assert.deepEqual(problems([1, '1', 2, 1, 1], set), ['a[3]: Duplicate value: 1']);
    assert.deepEqual(
      problems(
        [
          { x: 1, y: 2 },
          { y: 2, x: 1 },
        ],
        set,
      ),
      ['a[1]: Duplicate value: {"y":2,"x":1}'],
    );
    assert.deepEqual(problems([1, 1], { type: 'array', items: {} }), []);
  });

  it('have each key once, where a missing part of the key counts too', () => {
    assert.deepEqual(problems([{ name: 'x', port: 1 }, { name: 'x', port: 2 }, { name: 'x' }, { port: 1 }], map), []);
    assert.deepEqual(
      problems(
        [
          { name: 'x', port: 1, v: 1 },
          { name: 'x', port: 1, v: 2 },
        ],
        map,
      ),
      ['a[1]: Duplicate value: {"name":"x","port":1}'],
    );
    assert.deepEqual(problems([{}, {}], map), ['a[1]: Duplicate value: {}']);
  });

  it('have objects where they are maps', () => {
    for (const odd of ['x', 1, ['x']])
      assert.match(
        problems([{ name: 'x' }, odd], map).join(),
        /^a\[1\]: Invalid value: .*: must be an object for an array of list-type map$/,
      );
    assert.equal(problems(['x'], map).length, 1);
    assert.deepEqual(problems([null, { name: 'x' }], map), []);
  });

  it('are found below objects, maps and lists', () => {
    const deep = of({ list: { type: 'array', items: of({ s: set }) } });
    assert.deepEqual(problems({ list: [{}, { s: [1, 1] }] }, deep), ['a.list[1].s[1]: Duplicate value: 1']);
    assert.deepEqual(problems({ m: [1, 1] }, { type: 'object', additionalProperties: set }), [
      'a[m][1]: Duplicate value: 1',
    ]);
    assert.deepEqual(problems({ unknown: [1, 1] }, of({})), []);
    assert.deepEqual(problems('text', set), []);
    assert.deepEqual(problems(null, set), []);
  });
});
