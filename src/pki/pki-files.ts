import { errnoOf } from '../base/errors.ts';
import { writeFileAtomic } from '../base/write-file-atomic.ts';
import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';

const KEY_MODE = 0o600;
const CERTIFICATE_MODE = 0o644;

/** The text of a file, `undefined` when there is none. */
export async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Old content or new, never half of it, and on the disk when it resolves; with its folder. */
async function writeWhole(file: string, content: string, mode: number): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o755 });
  await writeFileAtomic(file, content, mode);
}

export const writeSecretFile = (file: string, content: string): Promise<void> => writeWhole(file, content, KEY_MODE);
export const writePublicFile = (file: string, content: string): Promise<void> =>
  writeWhole(file, content, CERTIFICATE_MODE);
