import type { Work } from './work.ts';
import { compareTexts } from './unicode.ts';
import type { CelValue } from './values.ts';
import { CelList, CelMap, Duration, lookupKey, Opaque, Optional, Timestamp, TypeValue, Uint } from './values.ts';

/** `==`: values of different types are not equal, except that numbers are compared by value. */
export function equals(left: CelValue, right: CelValue, work: Work): boolean {
  work.step();
  if (left === right) return true;
  const compared = compareNumbers(left, right);
  if (compared !== undefined) return compared === 0;
  if (left === null || right === null || typeof left !== 'object' || typeof right !== 'object') return false;
  if (left instanceof CelList) return right instanceof CelList && equalLists(left, right, work);
  if (left instanceof CelMap) return right instanceof CelMap && equalMaps(left, right, work);
  if (left instanceof Uint8Array) return right instanceof Uint8Array && equalBytes(left, right, work);
  if (left instanceof Duration) return right instanceof Duration && left.nanos === right.nanos;
  if (left instanceof Timestamp) return right instanceof Timestamp && left.nanos === right.nanos;
  if (left instanceof TypeValue) return right instanceof TypeValue && left.name === right.name;
  if (left instanceof Optional) return right instanceof Optional && equalOptionals(left, right, work);
  return left instanceof Opaque && right instanceof Opaque && left.equals(right);
}

function equalOptionals(left: Optional, right: Optional, work: Work): boolean {
  if (left.value === undefined || right.value === undefined) return left.value === right.value;
  return equals(left.value, right.value, work);
}

function equalLists(left: CelList, right: CelList, work: Work): boolean {
  if (left.length !== right.length) return false;
  const own = left.equals(right, work) ?? right.equals(left, work);
  if (own !== undefined) return own;
  for (let index = 0; index < left.length; index += 1) if (!equals(left.at(index), right.at(index), work)) return false;
  return true;
}

function equalMaps(left: CelMap, right: CelMap, work: Work): boolean {
  if (left.size !== right.size) return false;
  for (const key of left.keys()) {
    const lookup = lookupKey(key);
    const [mine, theirs] = lookup === undefined ? [] : [left.get(lookup), right.get(lookup)];
    if (mine === undefined || theirs === undefined || !equals(mine, theirs, work)) return false;
  }
  return true;
}

function equalBytes(left: Uint8Array, right: Uint8Array, work: Work): boolean {
  work.step(Math.ceil(left.length / 16));
  return left.length === right.length && left.every((byte, index) => byte === right[index]);
}

/** bigint or double: JavaScript can compare both kinds with each other. */
function numeric(value: CelValue): bigint | number | undefined {
  if (typeof value === 'bigint' || typeof value === 'number') return value;
  return value instanceof Uint ? value.value : undefined;
}

/** Undefined unless both are numbers; 'unordered' if one is not a number (NaN). */
function compareNumbers(left: CelValue, right: CelValue): -1 | 0 | 1 | 'unordered' | undefined {
  const [first, second] = [numeric(left), numeric(right)];
  if (first === undefined || second === undefined) return undefined;
  if (typeof first === typeof second) return order(first, second);
  // As in cel-go: a comparison of an integer with a double converts the integer, which may lose digits.
  return order(Number(first), Number(second));
}

function order(left: bigint | number, right: bigint | number): -1 | 0 | 1 | 'unordered' {
  if (left < right) return -1;
  if (left > right) return 1;
  return left === right ? 0 : 'unordered';
}

/** Compares two values of one type, or two numbers. Undefined when they cannot be ordered. */
export function compare(left: CelValue, right: CelValue): -1 | 0 | 1 | 'unordered' | undefined {
  const numbers = compareNumbers(left, right);
  if (numbers !== undefined) return numbers;
  if (typeof left === 'string' && typeof right === 'string') return compareTexts(left, right);
  if (typeof left === 'boolean' && typeof right === 'boolean') return sign(Number(left) - Number(right));
  if (left instanceof Duration && right instanceof Duration) return sign(left.nanos - right.nanos);
  if (left instanceof Timestamp && right instanceof Timestamp) return sign(left.nanos - right.nanos);
  if (left instanceof Uint8Array && right instanceof Uint8Array) return compareBytes(left, right);
  return undefined;
}

function sign(difference: number | bigint): -1 | 0 | 1 {
  if (difference < 0) return -1;
  return difference > 0 ? 1 : 0;
}

function compareBytes(left: Uint8Array, right: Uint8Array): -1 | 0 | 1 {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index += 1) {
    const difference = (left[index] as number) - (right[index] as number);
    if (difference !== 0) return sign(difference);
  }
  return sign(left.length - right.length);
}
