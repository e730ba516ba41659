/** A folder's path as the start of longer ones: without slashes at its end, and '' for `/`. Linear in its length. */
export function folderPrefix(path: string): string {
  return path.replace(/(?<!\/)\/+$/, '');
}
