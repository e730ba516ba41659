import type { Quantity } from '../../api/quantity.ts';
import { addQuantity, compareParsed, subtractQuantity, tryParseQuantity } from '../../api/quantity.ts';
import type { Library } from '../../cel/environment.ts';
import { globalFunction as fn, memberFunction as member } from '../../cel/environment.ts';
import type { CelType } from '../../cel/types.ts';
import { boolType, doubleType, intType, opaque, stringType } from '../../cel/types.ts';
import { CelError, Opaque } from '../../cel/values.ts';

export const quantityType = opaque('kubernetes.Quantity');
const UNIT_NANOS = 1_000_000_000n;

export class QuantityValue extends Opaque {
  readonly type: CelType = quantityType;
  readonly quantity: Quantity;

  constructor(quantity: Quantity) {
    super();
    this.quantity = quantity;
  }

  equals(other: Opaque): boolean {
    return other instanceof QuantityValue && compareParsed(this.quantity, other.quantity) === 0;
  }
}

/** Returns the amount as an integer, if it is a whole number that fits into an int64. */
function integerOf({ quantity }: QuantityValue): bigint | undefined {
  const amount = quantity.nanos / UNIT_NANOS;
  return quantity.nanos % UNIT_NANOS === 0n && amount === BigInt.asIntN(64, amount) ? amount : undefined;
}

const ofInt = (amount: bigint): Quantity => ({ nanos: amount * UNIT_NANOS, format: 'DecimalSI' });

function parse(text: string): QuantityValue | CelError {
  const parsed = tryParseQuantity(text);
  return typeof parsed === 'string' ? new CelError(parsed) : new QuantityValue(parsed);
}

function arithmetic(name: string, combine: (left: Quantity, right: Quantity) => Quantity) {
  return [
    member(
      `quantity_${name}`,
      [quantityType, quantityType],
      quantityType,
      (left: QuantityValue, right: QuantityValue) => new QuantityValue(combine(left.quantity, right.quantity)),
    ),
    member(
      `quantity_${name}_int`,
      [quantityType, intType],
      quantityType,
      (left: QuantityValue, right: bigint) => new QuantityValue(combine(left.quantity, ofInt(right))),
    ),
  ];
}

const compare = (left: QuantityValue, right: QuantityValue): -1 | 0 | 1 => compareParsed(left.quantity, right.quantity);

/** Resource quantities. */
export const quantities: Library = {
  typeNames: { 'kubernetes.Quantity': quantityType },
  functions: {
    quantity: [fn('string_to_quantity', [stringType], quantityType, parse)],
    isQuantity: [
      fn('is_quantity_string', [stringType], boolType, (text: string) => typeof tryParseQuantity(text) !== 'string'),
    ],
    sign: [
      member('quantity_sign', [quantityType], intType, ({ quantity: { nanos } }: QuantityValue) =>
        nanos === 0n ? 0n : nanos < 0n ? -1n : 1n,
      ),
    ],
    isGreaterThan: [
      member(
        'quantity_is_greater_than',
        [quantityType, quantityType],
        boolType,
        (left: QuantityValue, right: QuantityValue) => compare(left, right) > 0,
      ),
    ],
    isLessThan: [
      member(
        'quantity_is_less_than',
        [quantityType, quantityType],
        boolType,
        (left: QuantityValue, right: QuantityValue) => compare(left, right) < 0,
      ),
    ],
    compareTo: [
      member(
        'quantity_compare_to',
        [quantityType, quantityType],
        intType,
        (left: QuantityValue, right: QuantityValue) => BigInt(compare(left, right)),
      ),
    ],
    asApproximateFloat: [
      member(
        'quantity_get_float',
        [quantityType],
        doubleType,
        ({ quantity }: QuantityValue) => Number(quantity.nanos) / 1e9,
      ),
    ],
    asInteger: [
      member('quantity_get_int', [quantityType], intType, (value: QuantityValue) => {
        const amount = integerOf(value);
        return amount === undefined ? new CelError('cannot convert value to integer') : amount;
      }),
    ],
    isInteger: [
      member('quantity_is_integer', [quantityType], boolType, (value: QuantityValue) => integerOf(value) !== undefined),
    ],
    add: arithmetic('add', addQuantity),
    sub: arithmetic('sub', subtractQuantity),
  },
};
