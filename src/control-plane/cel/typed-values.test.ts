import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CelType } from '../../cel/types.ts';
import { doubleType, intType, listOf, mapOf, objectType, stringType, timestampType } from '../../cel/types.ts';
import { baseEnvironment } from './environment.ts';
import { evaluate } from './testing/evaluate-expression.ts';
import { adaptTo } from './typed-values.ts';

/** Evaluates an expression about `self`, a JSON value of a declared type. */
const judge = (source: string, type: CelType, raw: unknown): unknown =>
  evaluate(source, { self: adaptTo(type)(raw) }, baseEnvironment.withVariables({ self: type }));

describe('a typed JSON value', () => {
  it('is a time where the type says so', () => {
    assert.equal(judge('self.getFullYear()', timestampType, '2024-05-06T00:00:00Z'), 2024n);
    assert.equal(adaptTo(timestampType)('soon'), 'soon');
    assert.equal(adaptTo(timestampType)(1.5), 1.5);
    assert.equal(adaptTo(timestampType)(null), null);
  });

  it('is a double where the type says so, also if it is whole', () => {
    assert.equal(judge('self / 2.0', doubleType, 3), 1.5);
    assert.equal(judge('self / 2.0', doubleType, 3n), 1.5);
    assert.equal(adaptTo(doubleType)('a'), 'a');
    assert.equal(adaptTo(intType)(3), 3n);
  });

  it('has typed items, values and fields', () => {
    assert.equal(judge('self[1] / 2.0', listOf(doubleType), [1, 3]), 1.5);
    assert.equal(judge("self['a'] / 2.0", mapOf(stringType, doubleType), { a: 3 }), 1.5);
    const type = objectType('T', { half: doubleType, at: timestampType });
    const raw = { half: 1, at: '2024-05-06T00:00:00Z', more: 1 };
    assert.equal(judge('self.half / 2.0', type, raw), 0.5);
    assert.equal(judge('self.at.getMonth()', type, raw), 4n);
    assert.equal(judge('has(self.half) && type(self) == type(self)', type, raw), true);
    assert.equal(judge('has(dyn(self).more)', type, raw), false);
  });

  it('is what it is where it is of another type', () => {
    for (const type of [listOf(doubleType), mapOf(stringType, doubleType), objectType('T', {})])
      for (const raw of ['a', null, true]) assert.equal(adaptTo(type)(raw), raw);
    assert.equal(judge('dyn(self).a', listOf(doubleType), { a: 1 }), 1n);
    assert.equal(judge('dyn(self)[0]', mapOf(stringType, doubleType), [3]), 3n);
    assert.equal(judge('dyn(self)[0]', objectType('T', {}), [3]), 3n);
  });
});
