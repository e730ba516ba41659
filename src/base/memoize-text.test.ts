import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { memoizeText } from './memoize-text.ts';

function counted(options: { limit: number; longest?: number }): {
  lengthOf: (text: string) => { length: number };
  computed: string[];
} {
  const computed: string[] = [];
  const compute = (text: string): { length: number } => {
    computed.push(text);
    return { length: text.length };
  };
  return { lengthOf: memoizeText(compute, options), computed };
}

test('a result is computed once and returned again', () => {
  const { lengthOf, computed } = counted({ limit: 2 });
  assert.equal(lengthOf('ab'), lengthOf('ab'));
  lengthOf('c');
  lengthOf('ab');
  assert.deepEqual(computed, ['ab', 'c']);
});

test('all results are dropped before more than `limit` are kept', () => {
  const { lengthOf, computed } = counted({ limit: 2 });
  for (const text of ['a', 'b', 'c', 'c', 'a']) lengthOf(text);
  assert.deepEqual(computed, ['a', 'b', 'c', 'a']);
});

test('results of texts longer than `longest` are not kept', () => {
  const { lengthOf, computed } = counted({ limit: 2, longest: 3 });
  for (const text of ['abc', 'abcd', 'abc', 'abcd']) lengthOf(text);
  assert.deepEqual(computed, ['abc', 'abcd', 'abcd']);
});

test('the results equal those of the function after any earlier calls', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 3 })), fc.integer({ min: 1, max: 4 }), (texts, limit) => {
      const { lengthOf } = counted({ limit, longest: 2 });
      for (const text of texts) assert.equal(lengthOf(text).length, text.length);
    }),
  );
});
