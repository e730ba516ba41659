import assert from 'node:assert/strict';
import { test } from 'node:test';
import { goQuote } from './go-quote.ts';

test('quotes text as Go does', () => {
  assert.equal(goQuote('plain text'), '"plain text"');
  assert.equal(goQuote('a"b\\c\n\t\r'), '"a\\"b\\\\c\\n\\t\\r"');
  assert.equal(goQuote('\x00\x07\v\x1b\x7f'), '"\\x00\\a\\v\\x1b\\x7f"');
  assert.equal(goQuote('grüße 世界 😀'), '"grüße 世界 😀"');
  assert.equal(goQuote('\u200b\u00a0\u{e0001}'), '"\\u200b\\u00a0\\U000e0001"');
});
