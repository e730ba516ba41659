import { Buffer } from 'node:buffer';
import { constants, read } from 'node:fs';
import { promisify } from 'node:util';
import { errnoOf, KubeletError } from '../../../base/errors.ts';
import type { FdOps } from './linux-fd-ops.ts';
import { below, fdPath, mountIdOf, openOrNothing, PATH_DIRECTORY, PATH_NOFOLLOW } from './linux-fd-ops.ts';

const LONGEST_SYMLINK_CHAIN = 40;
const readFd = promisify(read);

const partsOf = (path: string): string[] => path.split('/').filter((name) => name !== '' && name !== '.');

/**
 * Opens the regular file `path` beneath `root` for reading. It is resolved as for a process whose root directory is
 * `root`: symlinks are followed, absolute ones from `root`, and nothing leads above it. Each component is opened from
 * the directory that is held open, and the kernel follows no link. So nothing outside is opened, whatever is swapped
 * meanwhile. The caller closes the descriptor. Rejects with `NotFound`, and with `Invalid` if it is not a regular file.
 */
export async function openFileBeneath(ops: FdOps, root: string, path: string): Promise<number> {
  const trail: number[] = [];
  try {
    trail.push(await ops.open(root, PATH_DIRECTORY));
    const mount = await mountIdOf(ops, trail[0] as number);
    let links = 0;
    let pending = partsOf(path);
    for (let name = pending.shift(); name !== undefined; name = pending.shift()) {
      if (name === '..') {
        if (trail.length > 1) await ops.close(trail.pop() as number);
        continue;
      }
      const entry = below(trail.at(-1) as number, name);
      const target = await linkTarget(ops, entry);
      if (target !== undefined) {
        if (++links > LONGEST_SYMLINK_CHAIN) throw new KubeletError('Invalid', `${path}: too many symbolic links`);
        if (target.startsWith('/')) while (trail.length > 1) await ops.close(trail.pop() as number);
        pending = [...partsOf(target), ...pending];
        continue;
      }
      if (pending.length === 0) return await openRegular(ops, entry, { path, mount });
      const directory = await openOrNothing(ops, entry, PATH_DIRECTORY);
      if (directory === undefined) throw new KubeletError('NotFound', `${path}: no such file or directory`);
      trail.push(directory);
      await demandMount(ops, directory, { path, mount });
    }
    throw new KubeletError('Invalid', `${path}: is a directory`);
  } finally {
    for (const fd of trail) await ops.close(fd);
  }
}

/** Returns the target of a symlink; undefined if the entry is missing or not a symlink. */
async function linkTarget(ops: FdOps, entry: string): Promise<string | undefined> {
  try {
    return await ops.readlink(entry);
  } catch (error) {
    if (errnoOf(error) === 'EINVAL' || errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Checks that the file is on the expected mount. A mount inside may be any file system, including one of the pod's own
 * that never responds. The check asks the kernel, and not that file system.
 */
async function demandMount(ops: FdOps, fd: number, { path, mount }: { path: string; mount: string }): Promise<void> {
  if ((await mountIdOf(ops, fd)) !== mount) throw new KubeletError('Invalid', `${path}: is on another mount`);
}

/**
 * Opens a regular file. It is checked before it is opened for reading, because opening a device or a pipe may have side
 * effects.
 */
async function openRegular(
  ops: FdOps,
  entry: string,
  { path, mount }: { path: string; mount: string },
): Promise<number> {
  const found = await openOrNothing(ops, entry, PATH_NOFOLLOW);
  if (found === undefined) throw new KubeletError('NotFound', `${path}: no such file or directory`);
  try {
    await demandMount(ops, found, { path, mount });
    const { mode } = await ops.fstat(found);
    if ((Number(mode) & constants.S_IFMT) !== constants.S_IFREG)
      throw new KubeletError('Invalid', `${path}: is not a regular file`);
    // The descriptor refers to exactly the file that was checked.
    return await ops.open(fdPath(found), constants.O_RDONLY);
  } finally {
    await ops.close(found);
  }
}

/**
 * Reads the whole file. One byte more than the limit is an error. The reported size is not used, because the file may
 * grow.
 */
export async function readOpenFile(fd: number, path: string, limitBytes: number): Promise<Uint8Array> {
  const buffer = Buffer.allocUnsafe(limitBytes + 1);
  let filled = 0;
  while (filled < buffer.length) {
    const { bytesRead } = await readFd(fd, buffer, filled, buffer.length - filled, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  if (filled > limitBytes) throw new KubeletError('Invalid', `${path}: is larger than ${limitBytes} bytes`);
  return Uint8Array.prototype.slice.call(buffer, 0, filled);
}
