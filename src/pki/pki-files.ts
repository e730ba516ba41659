import { errnoOf } from '../base/errors.ts';
import { writeFileAtomic } from '../base/write-file-atomic.ts';
import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';

const KEY_MODE = 0o600;
const CERTIFICATE_MODE = 0o644;

/** The content of a file; `undefined` if it does not exist. */
export async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Replaces a file atomically. When it resolves, the file and its directory are on disk. */
async function writeWhole(file: string, content: string, mode: number): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o755 });
  await writeFileAtomic(file, content, mode);
}

export const writeSecretFile = (file: string, content: string): Promise<void> => writeWhole(file, content, KEY_MODE);
export const writePublicFile = (file: string, content: string): Promise<void> =>
  writeWhole(file, content, CERTIFICATE_MODE);
