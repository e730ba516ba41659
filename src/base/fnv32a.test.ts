import assert from 'node:assert/strict';
import { it } from 'node:test';
import { fnv32a } from './fnv32a.ts';

it('fnv32a gives the published values of FNV-1a', () => {
  assert.deepEqual([fnv32a(''), fnv32a('a'), fnv32a('foobar')], [0x811c9dc5, 0xe40c292c, 0xbf9cf968]);
});
