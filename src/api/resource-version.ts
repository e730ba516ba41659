/**
 * Whether an object of this version was written after one of the other version of the same store: whole numbers of any
 * size, without leading zeros.
 */
export function isLaterVersion(resourceVersion: string, than: string): boolean {
  if (resourceVersion.length !== than.length) return resourceVersion.length > than.length;
  return resourceVersion > than;
}
