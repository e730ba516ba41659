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
 * Opens the regular file `path` beneath `root` for reading, resolved as for a process with `root` as its root
 * directory: symlinks are followed, an absolute one is resolved from `root`, and nothing leads above it. One component
 * at a time from the directory held open, never followed by the kernel: whatever is swapped meanwhile, nothing outside
 * is ever opened. The caller closes the descriptor. `NotFound`; `Invalid` for anything but a regular file.
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

/** undefined for anything but a symlink, or if it is missing. */
async function linkTarget(ops: FdOps, entry: string): Promise<string | undefined> {
  try {
    return await ops.readlink(entry);
  } catch (error) {
    if (errnoOf(error) === 'EINVAL' || errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * A mount inside may be any file system, including one of the pod's own that never responds; this asks the kernel and
 * not that file system.
 */
async function demandMount(ops: FdOps, fd: number, { path, mount }: { path: string; mount: string }): Promise<void> {
  if ((await mountIdOf(ops, fd)) !== mount) throw new KubeletError('Invalid', `${path}: lies on another mount`);
}

/** It is checked before it is opened for reading: opening a device or a pipe may have side effects. */
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
    // Through the descriptor, so it is the identical file that was checked.
    return await ops.open(fdPath(found), constants.O_RDONLY);
  } finally {
    await ops.close(found);
  }
}

/** All of it, and one byte more than the limit is an error; its size is not trusted, because it may grow. */
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
