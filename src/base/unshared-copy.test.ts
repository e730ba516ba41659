import assert from 'node:assert/strict';
import { it } from 'node:test';
import { unsharedCopy } from './unshared-copy.ts';

it('copies small bytes into memory of exactly their size', () => {
  const copy = unsharedCopy(Buffer.from('a few bytes'));
  assert.deepEqual([copy.toString(), copy.buffer.byteLength], ['a few bytes', 11]);
});
