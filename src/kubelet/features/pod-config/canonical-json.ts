/**
 * Encodes JSON with sorted keys and without undefined values, so that objects with the same content give the same text,
 * independent of the order of the fields in their manifests.
 */
export function canonicalJson(value: unknown): string {
  return (
    JSON.stringify(value, (_key, inner: unknown) => {
      if (inner === null || typeof inner !== 'object' || Array.isArray(inner)) return inner;
      const sorted: [string, unknown][] = Object.entries(inner).sort(([left], [right]) =>
        left < right ? -1 : left > right ? 1 : 0,
      );
      // Object.assign is not used, because a key named __proto__ must stay a plain key.
      return Object.fromEntries(sorted);
    }) ?? 'null'
  );
}
