/**
 * Whether the first version is later than the second one of the same store. Versions are integers of any size without
 * leading zeros.
 */
export function isLaterVersion(resourceVersion: string, than: string): boolean {
  if (resourceVersion.length !== than.length) return resourceVersion.length > than.length;
  return resourceVersion > than;
}
