/**
 * JSON with sorted keys and without undefined values: two objects of the same content give the same text, whatever the
 * order of the fields in their manifests.
 */
export function canonicalJson(value: unknown): string {
  return (
    JSON.stringify(value, (_key, inner: unknown) => {
      if (inner === null || typeof inner !== 'object' || Array.isArray(inner)) return inner;
      const sorted: [string, unknown][] = Object.entries(inner).sort(([left], [right]) =>
        left < right ? -1 : left > right ? 1 : 0,
      );
      // Not Object.assign: a key named __proto__ must stay a plain key.
      return Object.fromEntries(sorted);
    }) ?? 'null'
  );
}

/** Equal in content; an undefined field equals a missing one. */
export function sameContent(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  if (Array.isArray(left))
    return (
      left.length === (right as unknown[]).length &&
      left.every((item, index) => sameContent(item, (right as unknown[])[index]))
    );
  const one = left as Record<string, unknown>;
  const other = right as Record<string, unknown>;
  const keys = new Set([...Object.keys(one), ...Object.keys(other)]);
  for (const key of keys) if (!sameContent(one[key], other[key])) return false;
  return true;
}
