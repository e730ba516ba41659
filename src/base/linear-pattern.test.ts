import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LinearPattern } from './linear-pattern.ts';
import { compilePattern } from './linear-pattern.ts';

function compiled(pattern: string): LinearPattern {
  const made = compilePattern(pattern);
  if (typeof made === 'string') assert.fail(made);
  return made;
}

describe('a pattern', () => {
  it('matches anywhere in a text unless it is anchored', () => {
    assert.deepEqual(
      ['b', '^b', 'c$', '^abc$', 'd'].map((pattern) => compiled(pattern).test('abc')),
      [true, false, true, true, false],
    );
  });

  it('finds all matches in order, and an empty one only where no match ends', () => {
    assert.deepEqual([...compiled('[0-9]+').matches('a1b22')], ['1', '22']);
    assert.deepEqual([...compiled('x*').matches('axb')], ['', 'x', '']);
    assert.deepEqual([...compiled('x*').matches('xx')], ['xx']);
    assert.deepEqual([...compiled('a|').matches('ab')], ['a', '']);
    assert.deepEqual([...compiled('').matches('ab')], ['', '', '']);
    assert.deepEqual([...compiled('z').matches('a')], []);
  });

  it('costs more with a larger program', () => {
    assert.ok(compiled('a{100}').size > 10 * compiled('a').size);
  });

  it('is rejected if Go rejects it, if it is too long, or if its program is too large', () => {
    assert.equal(compilePattern('('), 'error parsing regexp: missing closing ): `(`');
    assert.match(String(compilePattern('(?=a)')), /^error parsing regexp: invalid or unsupported Perl syntax/);
    assert.equal(typeof compilePattern('a'.repeat(10_000)), 'object');
    assert.match(String(compilePattern('a'.repeat(10_001))), /longer than 10000 characters/);
    assert.equal(typeof compilePattern('a'.repeat(10_001), 20_000), 'object');
    assert.match(String(compilePattern(`(${'a'.repeat(25)}){1000}`)), /nests or repeats too much/);
  });
});
