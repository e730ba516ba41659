import assert from 'node:assert/strict';
import { it } from 'node:test';
import { foldOfSet, restOfSet } from './rest-of-set.ts';

it('rests in proportion to the set, small ones not at all, and no longer than half a second', () => {
  assert.deepEqual([0, 19, 20, 1_000, 10_000, 1_000_000].map(restOfSet), [0, 0, 1, 50, 500, 500]);
});

it('merges events of a large set for a tenth of a second at most', () => {
  assert.deepEqual([0, 19, 20, 1_000, 10_000].map(foldOfSet), [0, 0, 1, 50, 100]);
});
