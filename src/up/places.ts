/** Where this project's own files are, whether the sources run or a bundle of them. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The folder with package.json, above this file. */
export const repositoryRoot = findRoot(import.meta.dirname);

function findRoot(folder: string): string {
  return existsSync(join(folder, 'package.json')) || folder === '/' ? folder : findRoot(dirname(folder));
}
