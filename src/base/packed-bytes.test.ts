import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { it } from 'node:test';
import { PackedBytes } from './packed-bytes.ts';

it('returns what was packed, short or long, text or bytes', () => {
  for (const text of ['', 'ü', 'long ü '.repeat(10_000)]) {
    assert.equal(new PackedBytes(text).bytes.toString('utf8'), text);
    assert.equal(new PackedBytes(Buffer.from(text)).bytes.toString('utf8'), text);
  }
});

it('shares one copy among the readers of one task', () => {
  const packed = new PackedBytes('x'.repeat(10_000));
  assert.equal(packed.bytes, packed.bytes);
});

it('holds no more memory than the bytes that it keeps', () => {
  const short = 'x'.repeat(100);
  assert.equal(new PackedBytes(short).heldBytes, 100);
  // Hexadecimal digits shrink to about half.
  const long = randomBytes(10_000).toString('hex');
  assert.ok(new PackedBytes(long).heldBytes < long.length);
});
