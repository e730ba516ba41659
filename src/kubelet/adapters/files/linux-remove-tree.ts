import { constants } from 'node:fs';
import { errnoOf, KubeletError } from '../../../base/errors.ts';
import { fromErrno } from '../linux-errors.ts';
import type { FdOps, FdPath } from './linux-fd-ops.ts';
import { below, mountIdOf, openOrNothing, PATH_NOFOLLOW, READ_DIRECTORY } from './linux-fd-ops.ts';
import { isAtOrBelow } from '../../../base/mount-info.ts';
import { readMountInfo } from './linux-mountinfo.ts';
import { realPlace } from './linux-remote-mounts.ts';
import { walkTree } from './linux-tree-walk.ts';

/**
 * Removes a tree, and only that tree, because agents have deleted mounted data of users in the past. It changes nothing
 * if something is mounted at or below `path`. The walk neither follows links nor enters a mount that appears meanwhile.
 * It returns 'large' if the tree exceeds the budget: then a part is removed, and a child must remove the rest.
 */
export async function removeTree(
  ops: FdOps,
  path: string,
  work: { budget?: number; onEntry?: () => void } = {},
): Promise<'done' | 'large'> {
  try {
    if (await removedEmpty(ops, path)) return 'done';
    if (!(await isDirectory(ops, path))) {
      await removed(() => ops.unlink(path));
      return 'done';
    }
    const mounts = await readMountInfo();
    const real = await realPlace(path, mounts);
    const inside = mounts.filter((mount) => isAtOrBelow(mount.path, real));
    if (inside.length > 0) throw inUse(`something is mounted at ${inside.map((mount) => mount.path).join(', ')}`, path);
    const root = await openOrNothing(ops, path, READ_DIRECTORY);
    if (root !== undefined) {
      try {
        if (await isMountPoint(ops, root)) throw inUse('something was mounted here meanwhile', path);
        if ((await emptyDirectory(ops, root, { path, ...work })) === 'large') return 'large';
      } finally {
        await ops.close(root);
      }
    }
    await removed(() => ops.rmdir(path));
    return 'done';
  } catch (error) {
    throw errnoOf(error) === 'EBUSY'
      ? inUse('something is mounted in it', path, error)
      : fromErrno(error, 'removeTree', path);
  }
}

/**
 * Removes an empty folder, because most folders are empty by then. The kernel refuses folders that are not empty or are
 * mount points, so the mount table need not be read.
 */
async function removedEmpty(ops: FdOps, path: string): Promise<boolean> {
  try {
    await ops.rmdir(path);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return true;
    if (['ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'EBUSY'].includes(errnoOf(error) ?? '')) return false;
    throw error;
  }
}

async function emptyDirectory(
  ops: FdOps,
  root: number,
  { path, budget, onEntry }: { path: string; budget?: number; onEntry?: () => void },
): Promise<'done' | 'large'> {
  return walkTree(
    ops,
    root,
    {
      entry: async (directory, name) => {
        onEntry?.();
        try {
          await removed(() => ops.unlink(below(directory, name)));
          return 'done';
        } catch (error) {
          // Not every file system marks directories in its listing.
          if (
            errnoOf(error) === 'EISDIR' ||
            (errnoOf(error) === 'EPERM' && (await isDirectory(ops, below(directory, name))))
          )
            return 'directory';
          throw error;
        }
      },
      leaving: async () => undefined,
      left: (parent, name) => removed(() => ops.rmdir(below(parent, name))),
      mounted: (shown) => {
        throw inUse('something was mounted here meanwhile', shown);
      },
    },
    { shown: path, op: 'removeTree', ...(budget === undefined ? {} : { budget }) },
  );
}

/**
 * Whether the open directory is a mount point. The mount table was read before the directory was opened, and may
 * contain another name for it.
 */
async function isMountPoint(ops: FdOps, root: number): Promise<boolean> {
  const parent = await ops.open(below(root, '..'), READ_DIRECTORY);
  try {
    return (await mountIdOf(ops, parent)) !== (await mountIdOf(ops, root));
  } finally {
    await ops.close(parent);
  }
}

async function isDirectory(ops: FdOps, path: FdPath): Promise<boolean> {
  const fd = await openOrNothing(ops, path, PATH_NOFOLLOW | constants.O_DIRECTORY);
  if (fd !== undefined) await ops.close(fd);
  return fd !== undefined;
}

async function removed(remove: () => void | Promise<void>): Promise<void> {
  try {
    await remove();
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT' && errnoOf(error) !== 'ENOTDIR') throw error;
  }
}

function inUse(why: string, path: string, cause?: unknown): KubeletError {
  return new KubeletError('Unavailable', `removeTree ${path}: ${why}`, {
    op: 'removeTree',
    ...(cause === undefined ? {} : { cause }),
  });
}
