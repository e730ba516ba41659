import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { open, rename, unlink } from 'node:fs/promises';
import nodePath from 'node:path';

const CREATE_NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const OPEN_FOLDER = constants.O_RDONLY | constants.O_DIRECTORY;
/** The longest base of a temporary name: the suffix must fit after it. */
const NAME_LIMIT = 200;

/** Matches the temporary files that a killed process may leave in a folder. */
export const unfinishedName = /^\..+\.[0-9a-f]{12}\.tmp$/;

/**
 * Replaces a file in one step: readers, and the next process after a kill, see the old or the new content. With
 * `survivesPowerCut` the new content is on disk when this resolves; without it, a power cut may leave either. The mode is
 * independent of the umask. Rejects with the error of the system call.
 */
export async function writeFileAtomic(
  path: string,
  content: string | Uint8Array,
  mode: number,
  { survivesPowerCut = true }: { readonly survivesPowerCut?: boolean } = {},
): Promise<void> {
  const folder = nodePath.dirname(path);
  const random = randomBytes(6).toString('hex');
  const unfinished = nodePath.join(folder, `.${nodePath.basename(path).slice(0, NAME_LIMIT)}.${random}.tmp`);
  try {
    const file = await open(unfinished, CREATE_NEW, mode);
    try {
      await file.chmod(mode);
      await file.writeFile(content);
      if (survivesPowerCut) await file.sync();
    } finally {
      await file.close();
    }
    await rename(unfinished, path);
  } catch (error) {
    await unlink(unfinished).catch(() => undefined);
    throw error;
  }
  // Without this the rename itself may be lost in a power failure.
  if (survivesPowerCut) await syncFolder(folder);
}

/** Resolves when the names in a folder are on disk. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, OPEN_FOLDER);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
