/**
 * Whether two API values have the same meaning: deep equality, except that empty lists and maps count as absent
 * (upstream: equality.Semantic). Empty strings are values in maps; elsewhere they were removed when the object was read
 * (`dropZeros`). Quantities are compared as text, because decoding makes them canonical.
 */
import { isRecord } from '../base/json-record.ts';
export function semanticEqual(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (isRecord(one) && isRecord(other)) return sameFields(one, other);
  if (isEmpty(one) || isEmpty(other)) return isEmpty(one) && isEmpty(other);
  return (
    Array.isArray(one) &&
    Array.isArray(other) &&
    one.length === other.length &&
    one.every((item, index) => semanticEqual(item, other[index]))
  );
}

type Fields = Readonly<Record<string, unknown>>;

function sameFields(one: Fields, other: Fields): boolean {
  for (const key of Object.keys(one))
    if (!semanticEqual(one[key], Object.hasOwn(other, key) ? other[key] : undefined)) return false;
  for (const key of Object.keys(other))
    if (!Object.hasOwn(one, key) && !semanticEqual(undefined, other[key])) return false;
  return true;
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (typeof value !== 'object') return false;
  if (Array.isArray(value)) return value.length === 0;
  for (const field of Object.values(value)) if (field !== undefined) return false;
  return true;
}
