/**
 * Whether two values of the API mean the same: as deep equality, but lists and maps that are empty count as absent (upstream: equality.Semantic).
 * Quantities are compared as text, for decoding makes them canonical.
 */
export function semanticEqual(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (isEmpty(one) || isEmpty(other)) return isEmpty(one) && isEmpty(other);
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) || Array.isArray(other)) {
    return Array.isArray(one) && Array.isArray(other) && one.length === other.length && one.every((item, index) => semanticEqual(item, other[index]));
  }
  return sameFields(one as Fields, other as Fields);
}

type Fields = Readonly<Record<string, unknown>>;

function sameFields(one: Fields, other: Fields): boolean {
  for (const key of Object.keys(one)) if (!semanticEqual(one[key], Object.hasOwn(other, key) ? other[key] : undefined)) return false;
  for (const key of Object.keys(other)) if (!Object.hasOwn(one, key) && !isEmpty(other[key])) return false;
  return true;
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (typeof value !== 'object') return false;
  if (Array.isArray(value)) return value.length === 0;
  for (const field of Object.values(value)) if (field !== undefined) return false;
  return true;
}
