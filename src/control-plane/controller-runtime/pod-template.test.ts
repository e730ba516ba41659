import assert from 'node:assert/strict';
import { it } from 'node:test';
import { hashTemplate } from './pod-template.ts';

it('the hash is the same for the same meaning, in letters that names may have, and another for each collision', () => {
  const hash = hashTemplate({ a: 1, b: { c: [1, 2], d: 'x' } }, undefined);
  assert.match(hash, /^[bcdfghjklmnpqrstvwxz2456789]{1,10}$/);
  assert.equal(hashTemplate({ b: { d: 'x', c: [1, 2], e: undefined }, a: 1, f: [] }, undefined), hash);
  const others = [
    hashTemplate({ a: 1, b: { c: [2, 1], d: 'x' } }, undefined),
    hashTemplate({ a: 1, b: { c: [1, 2], d: 'x' } }, 0),
    hashTemplate({ a: 1, b: { c: [1, 2], d: 'x' } }, 1),
  ];
  assert.equal(new Set([hash, ...others]).size, 4);
});
