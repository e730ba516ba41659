/** The paths of this project's own files, for the sources and for the bundle. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The nearest folder above this file with package.json. */
export const repositoryRoot = findRoot(import.meta.dirname);

function findRoot(folder: string): string {
  return existsSync(join(folder, 'package.json')) || folder === '/' ? folder : findRoot(dirname(folder));
}
