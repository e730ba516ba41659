import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { hashTemplate, sameMeaning } from './pod-template.ts';

it('the hash is the same for the same meaning, in letters that names may have, and another for each collision', () => {
  const hash = hashTemplate({ a: 1, b: { c: [1, 2], d: 'x' } }, undefined);
  assert.match(hash, /^[bcdfghjklmnpqrstvwxz2456789]{1,10}$/);
  assert.equal(hashTemplate({ b: { d: 'x', c: [1, 2], e: undefined }, a: 1, f: [] }, undefined), hash);
  const others = [hashTemplate({ a: 1, b: { c: [2, 1], d: 'x' } }, undefined), hashTemplate({ a: 1, b: { c: [1, 2], d: 'x' } }, 0), hashTemplate({ a: 1, b: { c: [1, 2], d: 'x' } }, 1)];
  assert.equal(new Set([hash, ...others]).size, 4);
});

it('what is empty means what is absent; order counts in lists only', () => {
  assert.ok(sameMeaning({ a: {}, b: [], c: 1 }, { c: 1 }));
  assert.ok(sameMeaning({ a: { x: undefined } }, { a: {} }));
  assert.ok(!sameMeaning({ a: 0 }, {}));
  assert.ok(!sameMeaning([1, 2], [2, 1]));
  assert.ok(!sameMeaning({ a: 1 }, { a: 1, b: 'x' }));
  fc.assert(fc.property(fc.jsonValue(), fc.jsonValue(), (left, right) => sameMeaning(left, right) === sameMeaning(right, left) && sameMeaning(left, structuredClone(left))));
});
