import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compilePattern } from './linear-pattern.ts';
import type { LinearPattern } from './linear-pattern.ts';
import { PatternBudget } from './pattern-budget.ts';

function compiled(source: string): LinearPattern {
  const pattern = compilePattern(source);
  assert.ok(typeof pattern !== 'string', String(pattern));
  return pattern;
}
const many = compiled('^.*a.{30}b$');

describe('a budget for patterns', () => {
  it('lets patterns match while time is left', () => {
    const budget = new PatternBudget(() => 0);
    assert.equal(budget.test(many, `${'a'.repeat(31)}b`), true);
    assert.equal(budget.test(many, 'b'), false);
  });

  it('rejects a text that is too long for a pattern with many states', () => {
    const budget = new PatternBudget(() => 0);
    const longest = Math.floor(500_000 / many.size);
    assert.equal(budget.test(many, 'b'.repeat(longest)), false);
    assert.equal(budget.test(many, 'b'.repeat(longest + 1)), undefined);
    assert.equal(budget.test(compiled('^b*$'), 'b'.repeat(1_000_000)), true, 'few states take no time');
  });

  it('ends after its processor time, for any number of texts', () => {
    let micros = 0;
    const pattern: LinearPattern = {
      size: 50,
      matches: () => [],
      test: () => {
        micros += 1000;
        return true;
      },
    };
    const budget = new PatternBudget(() => micros);
    let tested = 0;
    while (tested < 1000 && budget.test(pattern, 'x'.repeat(200)) !== undefined) tested++;
    assert.ok(tested > 99 && tested < 110, String(tested));
  });
});
