import assert from 'node:assert/strict';
import { it } from 'node:test';
import { PackedJson } from './packed-json.ts';

it('returns the value with all its digits and characters', () => {
  const value = { text: 'ünï\u2028<>', long: 9_007_199_254_740_993n, list: [1, { deep: null }] };
  assert.deepEqual(new PackedJson(value).value, value);
});

it('returns one object to all readers of one task', () => {
  const packed = new PackedJson({ a: 1 });
  assert.equal(packed.value, packed.value);
});
