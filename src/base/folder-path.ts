/**
 * Returns a folder's path without slashes at its end, so that names can be appended; '' for `/`. The cost is linear in
 * its length.
 */
export function folderPrefix(path: string): string {
  return path.replace(/(?<!\/)\/+$/, '');
}
