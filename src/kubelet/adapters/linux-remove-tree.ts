import { constants, type Stats } from 'node:fs';
import { lstat, open, readFile, readdir, rmdir, unlink, type FileHandle } from 'node:fs/promises';
import { KubeletError } from '../../base/errors.ts';
import { errnoOf, fromErrno } from './linux-errors.ts';
import { isAtOrBelow, readMountInfo } from './linux-mountinfo.ts';

const OPEN_DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * Removes a tree, and only that tree (users have lost mounted data to agents that were less careful):
 * 1. Nothing is touched when something is mounted at or below `path`.
 * 2. Directories are opened with O_NOFOLLOW and entries are reached through the open descriptor (/proc/self/fd/N/name, Node's way to openat),
 *    so a directory swapped for a symlink meanwhile leads nowhere.
 * 3. Each opened directory must be on the same mount as the first (mnt_id, which tells bind mounts of the same device apart).
 */
export async function removeTree(path: string): Promise<void> {
  const info = await lstatOrNothing(path);
  if (info === undefined) return;
  if (!info.isDirectory()) return removeEntry(path, unlink);
  const mounts = (await readMountInfo()).filter((mount) => isAtOrBelow(mount.path, path));
  if (mounts.length > 0) {
    throw new KubeletError('Unavailable', `removeTree ${path}: something is mounted at ${mounts.map((mount) => mount.path).join(', ')}`, { op: 'removeTree' });
  }
  const root = await openDirectory(path, path);
  if (root === undefined) return;
  try {
    await emptyDirectory(root, { shown: path, mountId: await mountIdOf(root) });
  } finally {
    await root.close();
  }
  await removeEntry(path, rmdir);
}

async function emptyDirectory(directory: FileHandle, place: { shown: string; mountId: string }): Promise<void> {
  const base = `/proc/self/fd/${directory.fd}`;
  for (const entry of await readdir(base, { withFileTypes: true })) {
    const entryPath = `${base}/${entry.name}`;
    const shown = `${place.shown}/${entry.name}`;
    const child = entry.isDirectory() ? await openDirectory(entryPath, shown) : undefined;
    if (child === undefined) {
      await removeEntry(entryPath, unlink, shown);
      continue;
    }
    try {
      if ((await mountIdOf(child)) !== place.mountId) throw new KubeletError('Unavailable', `removeTree ${shown}: something was mounted here meanwhile`, { op: 'removeTree' });
      await emptyDirectory(child, { shown, mountId: place.mountId });
    } finally {
      await child.close();
    }
    await removeEntry(entryPath, rmdir, shown);
  }
}

/** undefined when it is gone, or is not a directory (any more). */
async function openDirectory(path: string, shown: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, OPEN_DIRECTORY);
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP') return undefined;
    throw fromErrno(error, 'removeTree', shown);
  }
}

async function mountIdOf(directory: FileHandle): Promise<string> {
  return /^mnt_id:\s*(\d+)/m.exec(await readFile(`/proc/self/fdinfo/${directory.fd}`, 'utf8'))?.[1] ?? 'unknown';
}

async function removeEntry(path: string, remove: (path: string) => Promise<void>, shown = path): Promise<void> {
  try {
    await remove(path);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return;
    throw errnoOf(error) === 'EBUSY'
      ? new KubeletError('Unavailable', `removeTree ${shown}: something is mounted here`, { op: 'removeTree', cause: error })
      : fromErrno(error, 'removeTree', shown);
  }
}

async function lstatOrNothing(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return undefined;
    throw fromErrno(error, 'removeTree', path);
  }
}
