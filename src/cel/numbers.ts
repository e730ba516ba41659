import type { CelResult } from './values.ts';
import { CelError, Uint } from './values.ts';

const INT_LIMIT = 2 ** 63;
const UINT_LIMIT = 2 ** 64;

/** Formats a double as Go's %g does. */
export function formatDouble(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const [mantissa, exponent] = value.toExponential().split('e') as [string, string];
  const power = Number(exponent);
  const digits = mantissa.replace(/[-.]/g, '').length;
  // As in Go: an exponent is used when more digits than needed (at least six) would stand before it.
  const limit = Math.max(digits > 6 && digits >= power + 1 ? digits : 6, 6);
  if (power >= -4 && power < Math.min(limit, 21)) return plainDecimal(value);
  return `${mantissa}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}

/** All digits, without an exponent. */
export function plainDecimal(value: number): string {
  const text = String(value);
  const match = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(text);
  if (match === null) return text;
  const digits = `${match[2]}${match[3] ?? ''}`;
  const point = 1 + Number(match[4]);
  if (point <= 0) return `${match[1]}0.${'0'.repeat(-point)}${digits}`;
  return `${match[1]}${digits.padEnd(point, '0')}`;
}

const integerText = /^[+-]?\d{1,64}$/;

export function parseInteger(text: string): CelResult {
  const value = integerText.test(text) ? BigInt(text.replace(/^\+/, '')) : undefined;
  if (value !== undefined && value === BigInt.asIntN(64, value)) return value;
  return new CelError(`strconv.ParseInt: parsing ${JSON.stringify(text.slice(0, 64))}: ${faultOf(value)}`);
}

export function parseUnsigned(text: string): CelResult {
  const value = /^\d{1,64}$/.test(text) ? BigInt(text) : undefined;
  if (value !== undefined && value === BigInt.asUintN(64, value)) return new Uint(value);
  return new CelError(`strconv.ParseUint: parsing ${JSON.stringify(text.slice(0, 64))}: ${faultOf(value)}`);
}

const faultOf = (value: bigint | undefined): string => (value === undefined ? 'invalid syntax' : 'value out of range');

const doubleText = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const namedDoubles = new Map([
  ['inf', Number.POSITIVE_INFINITY],
  ['infinity', Number.POSITIVE_INFINITY],
  ['nan', Number.NaN],
]);

export function parseDouble(text: string): CelResult {
  const short = text.slice(0, 64);
  const sign = /^[+-]/.exec(text)?.[0] ?? '';
  const named = namedDoubles.get(text.slice(sign.length, 16).toLowerCase());
  if (named !== undefined && text.length < 16) return sign === '-' ? -named : named;
  const value = text.length <= 4096 && doubleText.test(text) ? Number(text) : Number.NaN;
  if (Number.isFinite(value)) return value;
  const fault = Number.isNaN(value) ? 'invalid syntax' : 'value out of range';
  return new CelError(`strconv.ParseFloat: parsing ${JSON.stringify(short)}: ${fault}`);
}

export function doubleToInt(value: number): CelResult {
  if (!(value > -INT_LIMIT && value < INT_LIMIT)) return new CelError('integer overflow');
  return BigInt(Math.trunc(value));
}

export function doubleToUint(value: number): CelResult {
  if (!(value >= 0 && value < UINT_LIMIT)) return new CelError('unsigned integer overflow');
  return new Uint(BigInt(Math.trunc(value)));
}
