import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compileJsonPath } from './json-path.ts';

const object = {
  spec: { size: 3, 'a.b': 'dotted', list: ['x', 'y', 'z'], empty: [], map: { k: 'v' }, off: false },
  status: {
    conditions: [
      { type: 'Ready', status: 'True', weight: 2 },
      { type: 'Old', status: 'False', weight: 5 },
      { type: 'Bare' },
    ],
  },
};
const at = (path: string): unknown => compileJsonPath(path)(object);

describe('a path into an object', () => {
  it('leads through fields, written with dots, escaped or quoted', () => {
    assert.deepEqual(
      ['.spec.size', 'spec.size', '.spec.a\\.b', ".spec['a.b']", '.spec["a.b"]', "['spec'].size", '.spec.off'].map(at),
      [3, 3, 'dotted', 'dotted', 'dotted', 3, false],
    );
    assert.equal(at('.'), object);
    assert.equal(at(''), object);
  });

  it('leads to an element by its number, from either end', () => {
    assert.deepEqual(
      ['.spec.list[0]', '.spec.list[2]', '.spec.list[-1]', '.spec.list[-3]', '.spec.list[3]', '.spec.list[-4]'].map(at),
      ['x', 'z', 'z', 'x', undefined, undefined],
    );
    assert.deepEqual(['.spec.size[0]', '.spec.map[0]'].map(at), [undefined, undefined]);
  });

  it('leads to the first of all elements or fields', () => {
    assert.deepEqual(
      ['.spec.list[*]', '.spec.map.*', '.spec.empty[*]', '.spec.size[*]', '.status.conditions[*].weight'].map(at),
      ['x', 'v', undefined, undefined, 2],
    );
  });

  it('leads to the first element for which a filter holds', () => {
    const where = (filter: string): unknown => at(`.status.conditions[?(${filter})].type`);
    assert.deepEqual(
      [
        '@.type=="Old"',
        "@.type == 'Old'",
        '@.type!="Ready"',
        '@.weight>2',
        '@.weight>=2',
        '@.weight<5',
        '@.weight<=1',
        '@.weight==5',
        '@.status',
        '@.none',
        '@.weight>"2"',
        '@.status==true',
      ].map(where),
      ['Old', 'Old', 'Old', 'Old', 'Ready', 'Ready', undefined, 'Old', 'Ready', undefined, undefined, undefined],
    );
  });

  it('finds nothing where there is nothing, and no names that every object of JavaScript has', () => {
    for (const path of [
      '.none',
      '.spec.none.deep',
      '.spec.size.deep',
      '.constructor',
      '.spec.__proto__',
      '.spec.list.length',
    ])
      assert.equal(at(path), undefined, path);
  });

  it('finds nothing where it is of another form or too long', () => {
    for (const path of ['.spec[', '.spec.list[x]', '.spec..size', '..', '[?(@.a==)]', '.spec.list[0', '.a]'])
      assert.equal(at(path), undefined, path);
    const nested = { a: {} as object };
    for (let depth = 0; depth < 600; depth++) nested.a = { a: nested.a };
    assert.deepEqual(typeof compileJsonPath('.a'.repeat(500))(nested), 'object');
    assert.equal(compileJsonPath('.a'.repeat(501))(nested), undefined);
  });

  it('finds the first of a slice, which must lie within the list', () => {
    const first = (path: string): unknown => compileJsonPath(path)({ l: ['a', 'b', 'c'], m: {} });
    assert.deepEqual(
      ['[0:2]', '[1:]', '[-1:]', '[:2]', '[:]', '[-2:-1]', '[2:1]', '[1:1]', '[0:4]', '[-4:]'].map((each) =>
        first(`.l${each}`),
      ),
      ['a', 'b', 'c', 'a', 'a', 'b', undefined, undefined, undefined, undefined],
    );
    assert.equal(first('.m[0:1]'), undefined);
  });
});
