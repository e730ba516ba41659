import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { test } from 'node:test';
import fc from 'fast-check';
import { fnv128a } from './fnv128a.ts';

/** Computes the hash as FNV defines it. */
function reference(text: string): string {
  let hash = 0x6c62272e07bb014262b821756295c58dn;
  for (const byte of Buffer.from(text, 'utf8')) hash = ((hash ^ BigInt(byte)) * ((1n << 88n) + 0x13bn)) % (1n << 128n);
  return hash.toString(16).padStart(32, '0');
}

test('published values are met', () => {
  assert.equal(fnv128a(''), '6c62272e07bb014262b821756295c58d');
  assert.equal(fnv128a('a'), 'd228cb696f1a8caf78912b704e4a8964');
  assert.equal(fnv128a('foobar'), '343e1662793c64bf6f0d3597ba446f18');
});

test('every text has the hash of the definition', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => fnv128a(text) === reference(text)));
});
