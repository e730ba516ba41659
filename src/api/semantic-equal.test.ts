import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { semanticEqual } from './semantic-equal.ts';

test('an empty value equals an absent one, a zero does not', () => {
  assert.equal(semanticEqual({ a: [], b: {}, c: 1 }, { c: 1 }), true);
  assert.equal(semanticEqual({ a: { b: undefined } }, { a: {} }), true);
  assert.equal(semanticEqual({ a: 0 }, {}), false);
  assert.equal(semanticEqual({ a: false }, {}), false);
  assert.equal(semanticEqual([1, 2], [2, 1]), false);
  assert.equal(semanticEqual([1], [1, 2]), false);
  assert.equal(semanticEqual({ 0: 1 }, [1]), false);
  assert.equal(semanticEqual({ a: '1' }, { a: 1 }), false);
  assert.equal(semanticEqual({}, { __proto__: { a: 1 } }), true);
});

test('an empty text is something: a label without a value is no absent label', () => {
  assert.equal(semanticEqual({ gpu: '' }, {}), false);
  assert.equal(semanticEqual(undefined, { gpu: '' }), false);
});

test('every value equals its copy, and comparing is symmetric', () => {
  fc.assert(
    fc.property(
      fc.jsonValue(),
      fc.jsonValue(),
      (one, other) =>
        semanticEqual(one, structuredClone(one)) && semanticEqual(one, other) === semanticEqual(other, one),
    ),
  );
});
