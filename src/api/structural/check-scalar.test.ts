import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PatternBudget } from '../../base/pattern-budget.ts';
import { FieldErrors, formatFieldError } from '../validation/field-error.ts';
import { checkNumber, checkString, jsonTypeOf } from './check-scalar.ts';
import type { Finding } from './finding.ts';
import type { JsonSchema } from './json-schema.ts';
import { compileSchema } from './schema-node.ts';

function texts(findings: readonly Finding[]): string[] {
  const errors = new FieldErrors();
  for (const finding of findings) finding(errors);
  return errors.list.map((error) => formatFieldError(error).replace(/^a: (Invalid value: \S+: a in body )?/, ''));
}
const numbers = (schema: JsonSchema, ...values: (number | bigint)[]): string[] =>
  values.flatMap((value) => texts(checkNumber(value, compileSchema(schema), 'a')));
const strings = (schema: JsonSchema, ...values: string[]): string[] =>
  values.flatMap((value) => {
    const found = checkString(value, compileSchema(schema), 'a', new PatternBudget(() => 0));
    return found === 'no-time' ? ['no time'] : texts(found);
  });

it('a number that lost digits is no integer', () => {
  assert.deepEqual([2 ** 63, 1e300, 9_007_199_254_740_993n].map(jsonTypeOf), ['number', 'number', 'integer']);
});

it('the type of a value is named as in schemas, and a number without a fraction is an integer', () => {
  assert.deepEqual([null, undefined, [], {}, 1, 1.5, -0, 2n, 'x', true].map(jsonTypeOf), [
    'null',
    'null',
    'array',
    'object',
    'integer',
    'number',
    'integer',
    'integer',
    'string',
    'boolean',
  ]);
});

describe('a number', () => {
  it('may be its limits, unless they are exclusive', () => {
    const limits = { minimum: 1, maximum: 3 };
    assert.deepEqual(numbers(limits, 1, 2, 3, 1n, 3n), []);
    assert.deepEqual(numbers(limits, 0, 4), [
      'should be greater than or equal to 1',
      'should be less than or equal to 3',
    ]);
    const exclusive = { ...limits, exclusiveMinimum: true, exclusiveMaximum: true };
    assert.deepEqual(numbers(exclusive, 2), []);
    assert.deepEqual(numbers(exclusive, 1, 3), ['should be greater than 1', 'should be less than 3']);
    assert.deepEqual(numbers({ exclusiveMinimum: true, exclusiveMaximum: true }, 0), []);
  });

  it('is a multiple as people count it, also of fractions and beyond what a double holds', () => {
    assert.deepEqual(numbers({ multipleOf: 0.1 }, 0.3, 0.7, 12.3, 0), []);
    assert.deepEqual(numbers({ multipleOf: 0.1 }, 0.25), ['should be a multiple of 0.1']);
    assert.deepEqual(numbers({ multipleOf: 3 }, 9n, 9_007_199_254_740_993n, -3, -3n), []);
    assert.deepEqual(numbers({ multipleOf: 3 }, 10n, 9_007_199_254_740_994n, 4).length, 3);
    assert.deepEqual(numbers({ multipleOf: 2n }, 4, 4n), []);
    assert.deepEqual(numbers({ multipleOf: 2n }, 5, 4.5).length, 2);
    assert.deepEqual(numbers({ multipleOf: 0n }, 4n).length, 1);
    assert.deepEqual(numbers({ multipleOf: 0.5 }, 4n).length, 1);
    assert.deepEqual(numbers({ multipleOf: 1000 }, 1e15 + 1).length, 1);
  });

  it('fits into its format where the field is an integer alone', () => {
    const int32 = { type: 'integer', format: 'int32' };
    assert.deepEqual(numbers(int32, 2_147_483_647, -2_147_483_648), []);
    assert.deepEqual(
      numbers(int32, 2_147_483_648, -2_147_483_649),
      Array.from(
        { length: 2 },
        () => '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in a',
      ),
    );
    assert.deepEqual(numbers({ ...int32, format: 'int64' }, 2_147_483_648), []);
    assert.deepEqual(numbers({ type: 'number', format: 'int32' }, 2_147_483_648), []);
    assert.deepEqual(numbers({ 'x-kubernetes-int-or-string': true, format: 'int32' }, 2_147_483_648), []);
  });
});

describe('a text', () => {
  it('is as long as its characters are many, and may be as long as its limits', () => {
    const limits = { minLength: 2, maxLength: 3 };
    assert.deepEqual(strings(limits, 'ab', 'abc', '😀😀', '😀😀😀', 'é\uffffx'), []);
    assert.deepEqual(strings(limits, 'a', '😀', 'abcd'), [
      'should be at least 2 chars long',
      'should be at least 2 chars long',
      'Too long: may not be more than 3 bytes',
    ]);
    assert.deepEqual(strings({ maxLength: 0 }, ''), []);
  });

  it('matches its pattern anywhere, and one that does not compile is none', () => {
    assert.deepEqual(strings({ pattern: 'b' }, 'abc'), []);
    assert.deepEqual(strings({ pattern: '^b' }, 'abc'), [`should match '^b'`]);
    assert.deepEqual(strings({ pattern: '(' }, 'abc'), []);
    assert.deepEqual(strings({}, 'abc'), []);
  });
});
