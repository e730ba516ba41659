import { errnoOf } from '../base/errors.ts';
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
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

/** Old content or new, never half of it, and on the disk when it resolves. */
async function writeAtomically(file: string, content: string, mode: number): Promise<void> {
  const folder = path.dirname(file);
  await mkdir(folder, { recursive: true, mode: 0o755 });
  const temporary = `${file}.${randomBytes(4).toString('hex')}.tmp`;
  try {
    const handle = await open(temporary, 'wx', mode);
    try {
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    // The mode given to open is cut by the umask of the process.
    await chmod(temporary, mode);
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  const directory = await open(folder, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

export const writeSecretFile = (file: string, content: string): Promise<void> =>
  writeAtomically(file, content, KEY_MODE);
export const writePublicFile = (file: string, content: string): Promise<void> =>
  writeAtomically(file, content, CERTIFICATE_MODE);
