/** Functions on JSON values. Numbers beyond 2^53 may be bigints. */
import { isRecord } from '../../base/json-record.ts';
export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonArray(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

/** Returns the value of an own property; undefined counts as absent. */
export function own(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Whether two values are the same JSON. A field that is undefined counts as absent, as it is when written. */
export function equalJson(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null)
    return equalNumbers(left, right);
  if (Array.isArray(left))
    return (
      Array.isArray(right) && left.length === right.length && left.every((item, index) => equalJson(item, right[index]))
    );
  return !Array.isArray(right) && equalObjects(left as JsonObject, right as JsonObject);
}

function equalObjects(left: JsonObject, right: JsonObject): boolean {
  let shared = 0;
  for (const key of Object.keys(left)) {
    if (left[key] === undefined) continue;
    const other = own(right, key);
    if (other === undefined || !equalJson(left[key], other)) return false;
    shared++;
  }
  for (const key of Object.keys(right)) if (right[key] !== undefined) shared--;
  return shared === 0;
}

/** Compares numbers. An integer may be a bigint or a number. */
function equalNumbers(left: unknown, right: unknown): boolean {
  if (typeof left === 'bigint') return typeof right === 'number' && Number.isInteger(right) && BigInt(right) === left;
  return typeof left === 'number' && typeof right === 'bigint' && equalNumbers(right, left);
}

/** Whether the value is nested deeper than `levels`. Its own recursion is limited to that depth. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels <= 0) return true;
  return (Array.isArray(value) ? (value as readonly unknown[]) : Object.values(value)).some((entry) =>
    isDeeperThan(entry, levels - 1),
  );
}

/** Returns the JSON type of a value as Go's decoding errors name it. */
export function jsonTypeName(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'number':
    case 'bigint':
      return 'number';
    case 'boolean':
      return 'bool';
    default:
      return value === null ? 'null' : 'object';
  }
}

/** Formats a value as Go's `%v`, which some of the API server's messages contain: `map[name:web ports:[80]]`. */
export function formatGoValue(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return `[${value.map(formatGoValue).join(' ')}]`;
  if (!isRecord(value)) return String(value);
  return `map[${Object.keys(value)
    .sort()
    .map((key) => `${key}:${formatGoValue(value[key])}`)
    .join(' ')}]`;
}
