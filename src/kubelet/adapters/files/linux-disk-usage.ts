import { statfs } from 'node:fs/promises';
import { fromErrno } from '../linux-errors.ts';

/**
 * Returns a file system's size, and what an unprivileged user could still write to it (statfs f_bavail, as `df` and
 * upstream count).
 */
export async function diskUsage(path: string): Promise<{ capacityBytes: number; availableBytes: number }> {
  try {
    const { blocks, bavail, bsize } = await statfs(path);
    return { capacityBytes: blocks * bsize, availableBytes: bavail * bsize };
  } catch (error) {
    throw fromErrno(error, 'statfs', path);
  }
}
