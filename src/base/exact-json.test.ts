import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { exactly, parseExactJson } from './exact-json.ts';

describe('exact JSON', () => {
  it('keeps every digit of an int64, and shows it again', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
        const text = `{"list":[{"each":${value}}]}`;
        assert.equal(JSON.stringify(parseExactJson(text)), text);
      }),
    );
  });

  it('keeps every digit wherever a number may stand', () => {
    for (const text of [
      '9007199254740993',
      '[1,-9007199254740993,2]',
      '{"a":9007199254740993,"b":[[9007199254740995]]}',
    ]) {
      assert.equal(JSON.stringify(parseExactJson(text)), text);
      const spaced = text.replace(/[,:[\]{}]/g, '\n$&\t');
      assert.equal(JSON.stringify(parseExactJson(spaced)), text);
    }
  });

  it('reads everything else as JSON.parse does', () => {
    fc.assert(
      fc.property(fc.json(), fc.boolean(), (text, isLong) => {
        const whole = isLong ? `[${text},"0123456789012345"]` : text;
        // Long whole numbers are excluded, because they are written with all their digits.
        assert.deepEqual(
          JSON.parse(JSON.stringify(parseExactJson(whole))),
          JSON.parse(JSON.stringify(JSON.parse(whole))),
        );
      }),
    );
  });

  it('values beyond an int64 become numbers', () => {
    for (const text of [
      '9223372036854775808',
      '-9223372036854775809',
      '1e300',
      '12345678901234567890.5',
      '9'.repeat(400),
    ])
      assert.equal(parseExactJson(text), JSON.parse(text));
  });

  it('keeps a key named __proto__ a key', () => {
    const parsed = parseExactJson('{"__proto__":{"a":9007199254740993}}') as object;
    assert.ok(Object.hasOwn(parsed, '__proto__'));
    assert.equal(JSON.stringify(parsed), '{"__proto__":{"a":9007199254740993}}');
  });

  it('makes a bigint only where a number would lose digits', () => {
    assert.equal(exactly(9007199254740991n), 9007199254740991);
    assert.equal(exactly(9007199254740993n), 9007199254740993n);
    assert.equal(exactly(2n ** 63n), undefined);
  });
});
