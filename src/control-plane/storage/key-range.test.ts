import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { keyAfter, prefixEnd } from './key-range.ts';

const inBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

describe('ranges of keys', () => {
  it('ends a prefix at the next sibling', () => {
    assert.deepEqual(['/registry/pods/', '', 'a\u{10ffff}', '\u{10ffff}', '\ud7ff'].map(prefixEnd), [
      '/registry/pods0',
      undefined,
      'b',
      undefined,
      '\ue000',
    ]);
  });

  it('holds exactly the keys with the prefix, in the order of bytes', () => {
    const text = fc.string({ unit: 'binary', maxLength: 6 });
    fc.assert(
      fc.property(text, text, fc.boolean(), (prefix, other, joined) => {
        const key = joined ? prefix + other : other;
        const end = prefixEnd(prefix);
        const inRange = inBytes(key, prefix) >= 0 && (end === undefined || inBytes(key, end) < 0);
        assert.equal(inRange, key.startsWith(prefix));
      }),
    );
  });

  it('lets nothing come between a key and the one after it', () => {
    const text = fc.string({ unit: 'binary', maxLength: 6 });
    fc.assert(
      fc.property(text, text, (key, other) =>
        assert.equal(inBytes(other, key) > 0, inBytes(other, keyAfter(key)) >= 0),
      ),
    );
  });
});
