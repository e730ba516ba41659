import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Creates the folder and replaces the file atomically: a reader sees the old or the new content. */
export function writeNodeFile(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  // The CNI ignores names that do not end in .conf, .conflist or .json.
  const temporary = `${path}.tmp`;
  rmSync(temporary, { force: true });
  writeFileSync(temporary, text, { flag: 'wx', mode: 0o644 });
  renameSync(temporary, path);
}

/** Undefined when it cannot be read. */
export function readNodeFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
