import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { withWholeCharacters } from './whole-characters.ts';

const read = (json: string): unknown => JSON.parse(withWholeCharacters(json));

test('half a character becomes U+FFFD, in keys and in values; whole ones and what only looks like one stay', () => {
  assert.deepEqual(
    read(
      '{"a\\ud800":"\\uDC00b","c":"\\ud83d\\ude00","d":"\\\\ud800","e":"\\ud83d\\ud83d\\ude00\\ude00","f":"\\u00e9\\ud800x"}',
    ),
    {
      'a\ufffd': '\ufffdb',
      c: '😀',
      d: '\\ud800',
      e: '\ufffd😀\ufffd',
      f: 'é\ufffdx',
    },
  );
});

test('every text gives the same result as toWellFormed', () => {
  const units = fc.constantFrom('\ud800', '\udc00', '\ud83d', '\ude00', 'a', '\\', '"', 'u', 'd800', '\n');
  fc.assert(
    fc.property(
      fc.array(units, { maxLength: 12 }).map((parts) => parts.join('')),
      (text) => assert.equal(read(JSON.stringify(text)), text.toWellFormed()),
    ),
  );
});
