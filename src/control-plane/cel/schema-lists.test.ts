import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { listOf } from '../../cel/types.ts';
import { baseEnvironment } from './environment.ts';
import type { RuleSchema } from './schema-types.ts';
import { schemaType } from './schema-types.ts';
import { evaluate } from './testing/evaluate-expression.ts';

/** Evaluates an expression about the lists `a` and `b` of a schema. */
function judge(source: string, schema: RuleSchema, a: readonly unknown[], b: readonly unknown[]): unknown {
  const made = schemaType(schema, false);
  assert.ok(made !== undefined);
  const { type, adapt } = made;
  return evaluate(source, { a: adapt(a), b: adapt(b) }, baseEnvironment.withVariables({ a: type, b: type }));
}

const set: RuleSchema = { type: 'array', items: { type: 'integer' }, 'x-kubernetes-list-type': 'set' };
const pairs: RuleSchema = {
  type: 'array',
  items: {
    type: 'object',
    properties: { x: { type: 'integer' }, y: { type: 'string' }, value: { type: 'integer' } },
  },
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['x', 'y'],
};
const numbers = fc.uniqueArray(fc.integer({ min: 0, max: 5 }));

describe('lists of the type set', () => {
  it('are equal with the same items, and add what is not there', () => {
    fc.assert(
      fc.property(numbers, numbers, (a, b) => {
        const same = a.length === b.length && a.every((each) => b.includes(each));
        assert.equal(judge('a == b', set, a, b), same);
        const joined = [...new Set([...a, ...b])];
        assert.equal(judge(`dyn(a + b) == dyn(${JSON.stringify(joined)})`, set, a, b), true);
      }),
      { numRuns: 50 },
    );
  });

  it('know items that are no scalars by what is in them', () => {
    const lists = { ...set, items: { type: 'array', items: { type: 'integer' } } };
    assert.equal(judge('(a + b).size()', lists, [[1], [2]], [[2], [3]]), 3n);
    assert.equal(judge('a == b', lists, [[1], [2]], [[2], [1]]), true);
    const fractions = { ...set, items: { type: 'number' } };
    assert.equal(judge('(a + b).size()', fractions, [0.5, 1], [0.5, 1.5]), 3n);
  });
});

describe('lists of the type map', () => {
  const item = (x: number, value: number, y = 'a'): object => ({ x, y, value });

  it('are equal with the same items by key, in whatever order', () => {
    assert.equal(judge('a == b', pairs, [item(1, 1), item(2, 2)], [item(2, 2), item(1, 1)]), true);
    assert.equal(judge('a == b', pairs, [item(1, 1)], [item(1, 2)]), false);
    assert.equal(judge('a == b', pairs, [item(1, 1)], [item(2, 1)]), false);
    assert.equal(judge('a == b', pairs, [item(1, 1)], [item(1, 1), item(2, 2)]), false);
    assert.equal(judge('a == b', pairs, [item(1, 1), item(2, 2)], [item(1, 1)]), false);
  });

  it('replace in place what has the same keys, and add the rest', () => {
    const joined = judge(
      'dyn((a + b).map(each, each.value)) == dyn([9, 2, 3])',
      pairs,
      [item(1, 1), item(2, 2)],
      [item(1, 9), item(1, 3, 'b')],
    );
    assert.equal(joined, true);
  });

  it('do not take a missing key for one with a value, nor a text for a number', () => {
    const texts: RuleSchema = {
      ...pairs,
      items: { type: 'object', properties: { x: { 'x-kubernetes-int-or-string': true } } },
    };
    assert.equal(judge('(a + b).size()', texts, [{ x: 1 }], [{ x: '1' }]), 2n);
    assert.equal(judge('(a + b).size()', texts, [{}], [{ x: 'undefined' }]), 2n);
    assert.equal(judge('(a + b).size()', texts, [{ x: 1 }], [{ x: 1 }]), 1n);
  });

  it('hold items that are no objects too', () => {
    const { type } = schemaType(pairs, false) ?? {};
    assert.ok(type !== undefined && listOf(type));
    assert.equal(judge('(a + b).size()', { ...pairs, items: { type: 'integer' } }, [1], [2]), 1n);
  });
});

describe('lists of other types', () => {
  it('are equal in order and are appended', () => {
    const plain = { ...set, 'x-kubernetes-list-type': 'atomic' };
    assert.equal(judge('a == b', plain, [1, 2], [2, 1]), false);
    assert.equal(judge('(a + b).size()', plain, [1, 2], [2, 1]), 4n);
  });
});
