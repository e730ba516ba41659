import { errnoOf } from '../../../base/errors.ts';
import type { BigIntStats } from 'node:fs';
import { computeGroupMode } from '../../model/group-mode.ts';
import type { GroupOwnership, OwnershipOutcome } from '../../ports/host-files.ts';
import { fromErrno } from '../linux-errors.ts';
import type { FdOps, FdPath } from './linux-fd-ops.ts';
import { below, fdPath, openOrNothing, PATH_NOFOLLOW, READ_DIRECTORY } from './linux-fd-ops.ts';
import { walkTree } from './linux-tree-walk.ts';

const PRIVILEGE_BITS = 0o6000;

export interface OwnershipWork extends GroupOwnership {
  /** The maximum number of visited entries. */
  readonly budget?: number;
  readonly onEntry?: () => void;
}

/**
 * Changes the group of a tree, the content of a directory before the directory. So a correct root shows that everything
 * below is done (fsGroupChangePolicy OnRootMismatch relies on it). Each inode is opened without following links and
 * changed through its descriptor, so that a pod cannot redirect it with a link. For a symlink only its own group
 * changes. Correct entries are not written. An entry that cannot be changed does not stop the others (upstream:
 * volume_linux.go), and is counted.
 */
export async function giveTreeToGroup(
  ops: FdOps,
  path: string,
  work: OwnershipWork,
): Promise<OwnershipOutcome | 'large'> {
  const outcome: OwnershipOutcome = { entries: 0, refused: 0 };
  const change = async (fd: number, symlinkAt?: FdPath): Promise<void> => {
    outcome.entries++;
    work.onEntry?.();
    try {
      await changeOne(ops, { fd, symlinkAt }, work);
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return;
      outcome.refused++;
      outcome.firstError ??= fromErrno(error, 'change group', path).message;
    }
  };
  const entry = async (directory: number, name: Buffer): Promise<'done' | 'directory'> => {
    const at = below(directory, name);
    const fd = await openOrNothing(ops, at, PATH_NOFOLLOW);
    if (fd === undefined) return 'done';
    try {
      const stats = await ops.fstat(fd);
      if (stats.isDirectory()) return 'directory';
      await change(fd, stats.isSymbolicLink() ? at : undefined);
      return 'done';
    } finally {
      await ops.close(fd);
    }
  };
  try {
    const root = await openOrNothing(ops, path, READ_DIRECTORY);
    if (root === undefined) {
      await onlyOne(ops, path, change);
      return outcome;
    }
    try {
      const walked = await walkTree(
        ops,
        root,
        { entry, leaving: (directory) => change(directory), left: async () => undefined, mounted: () => undefined },
        { shown: path, op: 'change group', ...(work.budget === undefined ? {} : { budget: work.budget }) },
      );
      return walked === 'large' ? 'large' : outcome;
    } finally {
      await ops.close(root);
    }
  } catch (error) {
    throw fromErrno(error, 'change group', path);
  }
}

/** Handles a volume that is a file, or missing. */
async function onlyOne(
  ops: FdOps,
  path: string,
  change: (fd: number, symlinkAt?: FdPath) => Promise<void>,
): Promise<void> {
  const fd = await openOrNothing(ops, path, PATH_NOFOLLOW);
  if (fd === undefined) return;
  try {
    await change(fd, (await ops.fstat(fd)).isSymbolicLink() ? path : undefined);
  } finally {
    await ops.close(fd);
  }
}

async function changeOne(
  ops: FdOps,
  { fd, symlinkAt }: { fd: number; symlinkAt: FdPath | undefined },
  work: OwnershipWork,
): Promise<void> {
  const stats = await ops.fstat(fd);
  const isGroupRight = Number(stats.gid) === work.gid;
  if (symlinkAt !== undefined) {
    if (!isGroupRight) await ops.lchown(symlinkAt, -1, work.gid);
    return;
  }
  const mode = modeOf(stats);
  const wanted = computeGroupMode(mode, { directory: stats.isDirectory(), readOnly: work.readOnly });
  if (!isGroupRight) await ops.chown(fdPath(fd), -1, work.gid);
  // A change of the group removes setuid and setgid from files.
  if (wanted !== mode || (!isGroupRight && (mode & PRIVILEGE_BITS) !== 0)) await ops.chmod(fdPath(fd), wanted);
}

function modeOf(stats: BigIntStats): number {
  return Number(stats.mode & 0o7777n);
}
