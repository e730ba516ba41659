import assert from 'node:assert/strict';
import { it } from 'node:test';
import { PatternTotal } from './pattern-total.ts';

it('accepts the patterns of a large definition, and reports an invalid one', () => {
  const total = new PatternTotal();
  for (let index = 0; index < 300; index++)
    assert.equal(total.problemOf(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]+)*${index}$`), undefined);
  assert.match(total.problemOf('(') ?? '', /^must be a valid regular expression, but isn't: /);
});

it('refuses patterns that are too large together, but counts the same pattern once', () => {
  const total = new PatternTotal();
  const large = (index: number): string => `^[a-z]{1,900}x${index}$`;
  for (let round = 0; round < 1000; round++) assert.equal(total.problemOf(large(0)), undefined);
  const refused = Array.from({ length: 1000 }, (_, index) => total.problemOf(large(index))).filter(
    (problem) => problem !== undefined,
  );
  assert.ok(refused.length > 900);
  assert.match(refused[0] ?? '', /too large together/);
});

it('counts classes of Unicode for more than their instructions', () => {
  const total = new PatternTotal();
  const problems = Array.from({ length: 1000 }, (_, index) => total.problemOf(`^(\\p{L}|\\p{N})${index}$`));
  assert.match(problems.at(-1) ?? '', /too large together/);
});
