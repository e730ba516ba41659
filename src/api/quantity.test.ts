import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  addQuantities,
  canonicalQuantity,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  quantityMilliValue,
  quantityOf,
  quantityOfMillis,
  quantityValue,
  roundUpToMilli,
  tryParseQuantity,
} from './quantity.ts';

test('the canonical text is the one upstream prints', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['0', '0'],
    ['0Mi', '0'],
    ['1000m', '1'],
    ['1500m', '1500m'],
    ['1.5', '1500m'],
    ['0.5', '500m'],
    ['1024Mi', '1Gi'],
    ['1.5Gi', '1536Mi'],
    ['1000', '1k'],
    ['1000k', '1M'],
    ['1e3', '1e3'],
    ['12e4', '120e3'],
    ['1E', '1E'],
    ['1E3', '1e3'],
    ['0.5Gi', '512Mi'],
    ['0.5Ki', '512'],
    ['1023Ki', '1023Ki'],
    ['1Ki', '1Ki'],
    ['-1.5', '-1500m'],
    ['+1', '1'],
    ['1.', '1'],
    ['.5', '500m'],
    ['0.1n', '1n'],
    ['100', '100'],
    ['1.1Mi', '1153433600m'],
    ['9999999999999Ei', '9223372036854775807'],
    ['123456789', '123456789'],
    ['1u', '1u'],
  ];
  assert.deepEqual(
    cases.map(([text]) => canonicalQuantity(text)),
    cases.map(([, canonical]) => canonical),
  );
});

test('invalid quantities are rejected with the error texts of upstream', () => {
  const shape = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  assert.equal(tryParseQuantity(''), shape);
  assert.equal(tryParseQuantity('1 Gi'), shape);
  assert.equal(tryParseQuantity('Gi'), shape);
  assert.equal(tryParseQuantity('1gi'), shape);
  assert.equal(tryParseQuantity('1GiB'), shape);
  assert.equal(tryParseQuantity('1Kii'), "unable to parse quantity's suffix");
  assert.equal(tryParseQuantity('1e999999999999'), "unable to parse quantity's suffix");
  assert.equal(tryParseQuantity('.'), 'unable to parse numeric part of quantity');
});

test('values are rounded up, never down', () => {
  assert.equal(quantityValue('1500m'), 2);
  assert.equal(quantityMilliValue('1'), 1000);
  assert.equal(quantityMilliValue('1u'), 1);
  assert.equal(quantityValue('64Mi'), 67_108_864);
  assert.equal(quantityValue('-1500m'), -2);
  assert.equal(roundUpToMilli('100u'), '1m');
});

test('sums keep the notation of the left side', () => {
  assert.equal(addQuantities('512Mi', '512Mi'), '1Gi');
  assert.equal(addQuantities('0', '1Ki'), '1Ki');
  assert.equal(addQuantities('1', '500m'), '1500m');
  assert.equal(quantityOf(1024 ** 3, 'BinarySI'), '1Gi');
  assert.equal(quantityOfMillis(250), '250m');
});

const quantityText = fc
  .tuple(
    fc.constantFrom('', '-', '+'),
    fc.nat(),
    fc.option(fc.nat({ max: 999_999 })),
    fc.constantFrom('', 'n', 'u', 'm', 'k', 'M', 'G', 'T', 'P', 'Ki', 'Mi', 'Gi', 'Ti', 'e3', 'e-3', 'E6'),
  )
  .map(([sign, whole, fraction, suffix]) => `${sign}${whole}${fraction === null ? '' : `.${fraction}`}${suffix}`);

test('formatting and parsing again gives the same amount and the same text', () => {
  fc.assert(
    fc.property(quantityText, (text) => {
      const first = parseQuantity(text);
      const canonical = formatQuantity(first);
      assert.equal(parseQuantity(canonical).nanos, first.nanos);
      assert.equal(canonicalQuantity(canonical), canonical);
    }),
  );
});

test('comparison agrees with addition', () => {
  fc.assert(
    fc.property(
      quantityText,
      quantityText,
      (left, right) => compareQuantities(addQuantities(left, right), left) === compareQuantities(right, '0'),
    ),
  );
});

test('no text makes the parser throw', () => {
  fc.assert(fc.property(fc.string({ maxLength: 40 }), (text) => void tryParseQuantity(text)));
  fc.assert(
    fc.property(fc.stringMatching(/^[-+]?[0-9.]*[eEinumkKMGTP]*[-+]?[0-9]*$/), (text) => void tryParseQuantity(text)),
  );
});
