import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { evaluate } from './testing/evaluate-expression.ts';

/** Formats an amount in thousandths as a quantity. */
const milli = (amount: number): string => `quantity('${amount}m')`;
const amounts = fc.integer({ min: -5_000, max: 5_000 });

describe('a quantity in an expression', () => {
  it('is compared and computed with like the number it stands for', () => {
    fc.assert(
      fc.property(amounts, amounts, fc.integer({ min: -9, max: 9 }), (left, right, whole) => {
        const [a, b] = [milli(left), milli(right)];
        const expected = new Map<string, unknown>([
          [`${a}.compareTo(${b})`, BigInt(Math.sign(left - right))],
          [`${a}.isLessThan(${b})`, left < right],
          [`${a}.isGreaterThan(${b})`, left > right],
          [`${a} == ${b}`, left === right],
          [`${a}.sign()`, BigInt(Math.sign(left))],
          [`${a}.add(${b}) == ${milli(left + right)}`, true],
          [`${a}.sub(${b}) == ${milli(left - right)}`, true],
          [`${a}.add(${whole}) == ${milli(left + 1000 * whole)}`, true],
          [`${a}.sub(${whole}) == ${milli(left - 1000 * whole)}`, true],
          [`${a}.isInteger()`, left % 1000 === 0],
          [`${a}.asApproximateFloat()`, left / 1000],
        ]);
        for (const [source, value] of expected) assert.equal(evaluate(source), value, source);
      }),
      { numRuns: 30 },
    );
  });

  it('counts binary and decimal suffixes', () => {
    for (const source of [
      "quantity('2Ki') == quantity('2048')",
      "quantity('2Ki').asInteger() == 2048",
      "quantity('1M').isGreaterThan(quantity('976Ki'))",
      "quantity('-0').sign() == 0",
    ])
      assert.equal(evaluate(source), true, source);
  });

  it('is an integer only where int64 holds it', () => {
    assert.equal(evaluate("quantity('9223372036854775807').asInteger()"), 9_223_372_036_854_775_807n);
    assert.equal(evaluate("quantity('-9223372036854775808').asInteger()"), -9_223_372_036_854_775_808n);
    assert.equal(evaluate("quantity('1500m').asInteger()"), 'error: cannot convert value to integer');
    assert.equal(evaluate("quantity('1500m').isInteger()"), false);
    assert.equal(evaluate("quantity('9223372036854775807').add(1).isInteger()"), false);
  });

  it('is made only of texts that are quantities', () => {
    assert.equal(evaluate("isQuantity('1.5Gi')"), true);
    assert.equal(evaluate("isQuantity('1.5 Gi')"), false);
    assert.match(String(evaluate("quantity('ten')")), /^error: quantities must match the regular expression/);
  });

  it('has a type with a name', () => {
    assert.equal(evaluate("type(quantity('1')) == kubernetes.Quantity"), true);
    assert.equal(evaluate("dyn(quantity('1')) == dyn('1')"), false);
  });
});
