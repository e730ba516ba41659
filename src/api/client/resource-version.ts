/**
 * Versions of one kind may be compared as numbers (upstream: apimachinery resourceversion); what is no number, or not
 * there, is never older.
 */
export function isOlderVersion(one = '', other = ''): boolean {
  if (!/^\d+$/.test(one) || !/^\d+$/.test(other)) return false;
  return one.length === other.length ? one < other : one.length < other.length;
}
