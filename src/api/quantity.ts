import { lookupTable } from '../base/lookup.ts';
import { KubeletError } from '../base/errors.ts';

/**
 * Resource quantities: `500m`, `1.5Gi`, `12e6`. Objects contain them as strings; this file computes with them. The
 * rules are those of apimachinery `resource.Quantity`: the smallest unit is 1n, finer values are rounded away from
 * zero, and values with binary suffixes are at most 2^63-1.
 */
export type QuantityFormat = 'BinarySI' | 'DecimalSI' | 'DecimalExponent';

export interface Quantity {
  /** The amount in 10^-9 of the unit. */
  readonly nanos: bigint;
  readonly format: QuantityFormat;
}

const MAX_TEXT_LENGTH = 256;
const MAX_EXPONENT = 60;
const NANO = 1_000_000_000n;
const MAX_BINARY_NANOS = (2n ** 63n - 1n) * NANO;
const shape = /^([+-]?)([0-9]*)(?:\.([0-9]*))?((?:[eEinumkKMGTP]+[-+]?[0-9]*|[-+][0-9]*)?)$/;
const binaryPowers: Readonly<Record<string, bigint>> = lookupTable({
  Ki: 10n,
  Mi: 20n,
  Gi: 30n,
  Ti: 40n,
  Pi: 50n,
  Ei: 60n,
});
const decimalPowers: Readonly<Record<string, number>> = lookupTable({
  n: -9,
  u: -6,
  m: -3,
  '': 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
});
/** Suffixes from `n` to `E`. */
const powersOfTen = Array.from({ length: 28 }, (_, power) => 10n ** BigInt(power));
const decimalSuffixes = new Map(Object.entries(decimalPowers).map(([suffix, power]) => [power, suffix]));
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

const BAD_SHAPE = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const BAD_SUFFIX = "unable to parse quantity's suffix";
const BAD_NUMBER = 'unable to parse numeric part of quantity';

/** Parses a quantity. A string result is the error, in upstream's words. */
export function tryParseQuantity(text: string): Quantity | string {
  if (text.length === 0 || text.length > MAX_TEXT_LENGTH) return BAD_SHAPE;
  const match = shape.exec(text);
  if (match === null) return BAD_SHAPE;
  const [, sign = '', whole = '', fraction = '', suffix = ''] = match;
  if (whole.length + fraction.length === 0) return text.includes('.') ? BAD_NUMBER : BAD_SHAPE;
  const unit = unitOf(suffix);
  if (unit === undefined) return BAD_SUFFIX;
  const digits = BigInt(whole + fraction);
  const magnitude = toNanos(digits, fraction.length, unit);
  const capped = unit.format === 'BinarySI' && magnitude > MAX_BINARY_NANOS ? MAX_BINARY_NANOS : magnitude;
  const format = unit.format === 'BinarySI' && capped > 0n && capped < NANO ? 'DecimalSI' : unit.format;
  return { nanos: sign === '-' ? -capped : capped, format };
}

/** Parses a quantity. Throws `Invalid` for an invalid one. */
export function parseQuantity(text: string): Quantity {
  const parsed = tryParseQuantity(text);
  if (typeof parsed === 'string')
    throw new KubeletError('Invalid', `quantity ${JSON.stringify(text)}: ${parsed}`, { op: 'parse quantity' });
  return parsed;
}

interface Unit {
  readonly format: QuantityFormat;
  /** Power of two for BinarySI, of ten otherwise. */
  readonly power: number;
}

function unitOf(suffix: string): Unit | undefined {
  const decimal = decimalPowers[suffix];
  if (decimal !== undefined) return { format: 'DecimalSI', power: decimal };
  const binary = binaryPowers[suffix];
  if (binary !== undefined) return { format: 'BinarySI', power: Number(binary) };
  if (!/^[eE][-+]?[0-9]+$/.test(suffix)) return undefined;
  const power = Number(suffix.slice(1));
  // Beyond this the number has no meaning for any resource, and the bigint could use too much memory.
  return power > MAX_EXPONENT ? undefined : { format: 'DecimalExponent', power: Math.max(power, -MAX_TEXT_LENGTH * 2) };
}

function toNanos(digits: bigint, decimals: number, unit: Unit): bigint {
  if (unit.format === 'BinarySI') {
    const nanos = (digits << BigInt(unit.power)) * NANO;
    return decimals === 0 ? nanos : divideUp(nanos, 10n ** BigInt(decimals));
  }
  const power = unit.power - decimals + 9;
  if (power < 0) return divideUp(digits, 10n ** BigInt(-power));
  return digits * (powersOfTen[power] ?? 10n ** BigInt(power));
}

/** Division that rounds away from zero. */
function divideUp(value: bigint, by: bigint): bigint {
  const whole = value / by;
  const rest = value % by;
  if (rest === 0n) return whole;
  return value > 0n ? whole + 1n : whole - 1n;
}

/** The canonical text: without a fraction, and with the largest suffix that loses no digits. `1500m`, `1536Mi`, `0`. */
export function formatQuantity(quantity: Quantity): string {
  const { nanos, format } = quantity;
  if (nanos === 0n) return '0';
  const useBinary = format === 'BinarySI' && nanos % NANO === 0n && (nanos <= -1024n * NANO || nanos >= 1024n * NANO);
  if (useBinary) return formatBinary(nanos / NANO);
  return formatDecimal(nanos, format === 'DecimalExponent');
}

function formatBinary(amount: bigint): string {
  let rest = amount;
  let step = 0;
  while (rest % 1024n === 0n && step < binarySuffixes.length - 1) {
    rest /= 1024n;
    step++;
  }
  return `${rest}${binarySuffixes[step]}`;
}

function formatDecimal(nanos: bigint, exponentForm: boolean): string {
  let mantissa = nanos;
  let power = -9;
  while (mantissa % 1000n === 0n) {
    mantissa /= 1000n;
    power += 3;
  }
  const suffix = exponentForm ? undefined : decimalSuffixes.get(power);
  if (suffix !== undefined) return `${mantissa}${suffix}`;
  return power === 0 ? `${mantissa}` : `${mantissa}e${power}`;
}

/** Canonical text of a quantity given as text; throws `Invalid`. */
export function canonicalQuantity(text: string): string {
  return formatQuantity(parseQuantity(text));
}

/** The integer amount, rounded away from zero: `1500m` is 2. Exact up to 2^53. */
export function quantityValue(text: string): number {
  return Number(divideUp(parseQuantity(text).nanos, NANO));
}

/** The amount in thousandths, rounded away from zero: `1.5` is 1500. */
export function quantityMilliValue(text: string): number {
  return Number(divideUp(parseQuantity(text).nanos, 1_000_000n));
}

/** The exact amount in thousandths, rounded away from zero, of any size. */
export function quantityMillis(text: string): bigint {
  return divideUp(parseQuantity(text).nanos, 1_000_000n);
}

/** Compares two quantities: -1, 0 or 1. */
export function compareQuantities(left: string, right: string): -1 | 0 | 1 {
  return compareParsed(parseQuantity(left), parseQuantity(right));
}

export function compareParsed(left: Quantity, right: Quantity): -1 | 0 | 1 {
  if (left.nanos === right.nanos) return 0;
  return left.nanos < right.nanos ? -1 : 1;
}

/** The sign: -1, 0 or 1. */
export function quantitySign(text: string): -1 | 0 | 1 {
  const { nanos } = parseQuantity(text);
  if (nanos === 0n) return 0;
  return nanos < 0n ? -1 : 1;
}

/** Adds two quantities. The sum has the format of the left one, or of the right one if the left one is zero. */
export function addQuantity(left: Quantity, right: Quantity): Quantity {
  return { nanos: left.nanos + right.nanos, format: left.nanos === 0n ? right.format : left.format };
}

export function subtractQuantity(left: Quantity, right: Quantity): Quantity {
  return { nanos: left.nanos - right.nanos, format: left.nanos === 0n ? right.format : left.format };
}

export function addQuantities(left: string, right: string): string {
  return formatQuantity(addQuantity(parseQuantity(left), parseQuantity(right)));
}

/** A quantity from a whole number of units, such as bytes (`BinarySI`) or pods (`DecimalSI`). */
export function quantityOf(amount: number, format: QuantityFormat): string {
  return formatQuantity({ nanos: BigInt(Math.ceil(amount)) * NANO, format });
}

/** A CPU quantity from thousandths of a CPU. */
export function quantityOfMillis(millis: number): string {
  return formatQuantity({ nanos: BigInt(Math.ceil(millis)) * 1_000_000n, format: 'DecimalSI' });
}

/** Rounds up to thousandths, as the API server does when it stores a resource list (upstream: core/v1 defaults.go). */
export function roundUpToMilli(text: string): string {
  const { nanos, format } = parseQuantity(text);
  return formatQuantity({ nanos: divideUp(nanos, 1_000_000n) * 1_000_000n, format });
}
