/**
 * Versions of one kind can be compared as numbers (upstream: apimachinery resourceversion). A missing version, or one
 * that is not a number, is never older.
 */
export function isOlderVersion(one = '', other = ''): boolean {
  if (!/^\d+$/.test(one) || !/^\d+$/.test(other)) return false;
  return one.length === other.length ? one < other : one.length < other.length;
}
