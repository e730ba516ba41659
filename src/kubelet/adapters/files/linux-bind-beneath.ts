import { lstat, mkdir, rmdir, unlink, writeFile } from 'node:fs/promises';
import nodePath from 'node:path/posix';
import { errnoOf, KubeletError } from '../../../base/errors.ts';
import type { BindBeneathResult, SubPathMount } from '../../ports/mounts.ts';
import type { FdOps, InodeId } from './linux-fd-ops.ts';
import { isSameInode, openOrNothing, PATH_NOFOLLOW } from './linux-fd-ops.ts';
import { readMountInfo } from './linux-mountinfo.ts';
import { openBeneath } from './linux-open-beneath.ts';

const FOLDER_MODE = 0o750;
const FILE_MODE = 0o640;
/**
 * The maximum number of stacked mounts. It is exceeded only if another process mounts faster than this one unmounts.
 */
const MOST_LAYERS = 16;

export interface BindBeneathTools {
  readonly ops: FdOps;
  /** Binds the file of `source` (a descriptor's name in /proc) without resolving its name. */
  bindDescriptor(source: string, target: string): Promise<void>;
  unmount(target: string): Promise<void>;
}

/**
 * Opens the path beneath the volume, binds the descriptor, and checks that the mounted file is the opened one. The
 * folder of targets belongs to the agent, so no pod can change a name in it. The layout of targets, the modes and the
 * reuse of a matching mount are those of upstream's subpath_linux.go.
 */
export async function bindBeneath(request: SubPathMount, tools: BindBeneathTools): Promise<BindBeneathResult> {
  const { ops } = tools;
  const target = nodePath.normalize(request.target);
  const opened = await openBeneath(ops, request.root, request.subPath);
  if (opened.kind === 'refused') return opened;
  try {
    const wanted = await ops.fstat(opened.fd);
    if (await isMounted(target)) {
      if (await shows(ops, target, wanted)) return { kind: 'mounted', reused: true };
      await uncover(target, tools);
    }
    await makeTarget(target, opened.directory);
    await tools.bindDescriptor(`/proc/${process.pid}/fd/${opened.fd}`, target);
    if (await shows(ops, target, wanted)) return { kind: 'mounted', reused: false };
    await tools.unmount(target);
    throw new KubeletError('Conflict', `bind ${target}: the mounted file is not the file that was opened`, {
      op: 'bindBeneath',
    });
  } finally {
    await ops.close(opened.fd);
  }
}

async function isMounted(target: string): Promise<boolean> {
  return (await readMountInfo()).some((mount) => mount.path === target);
}

/** Whether the target shows this file. A stale mount causes an error and does not show it. */
async function shows(ops: FdOps, target: string, wanted: InodeId): Promise<boolean> {
  let fd: number | undefined;
  try {
    fd = await openOrNothing(ops, target, PATH_NOFOLLOW);
    return fd !== undefined && isSameInode(await ops.fstat(fd), wanted);
  } catch (error) {
    if (errnoOf(error) === 'ESTALE' || errnoOf(error) === 'EIO' || errnoOf(error) === 'ENOTCONN') return false;
    throw error;
  } finally {
    if (fd !== undefined) await ops.close(fd);
  }
}

async function uncover(target: string, tools: BindBeneathTools): Promise<void> {
  for (let layer = 0; layer < MOST_LAYERS && (await isMounted(target)); layer++) await tools.unmount(target);
}

/**
 * Creates the target. A file can be the target for everything except a directory. A leftover of the other type is
 * replaced.
 */
async function makeTarget(target: string, directory: boolean): Promise<void> {
  await mkdir(nodePath.dirname(target), { recursive: true, mode: FOLDER_MODE });
  const info = await lstat(target).catch((error: unknown) => {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (info !== undefined && info.isDirectory() === directory && !info.isSymbolicLink()) return;
  if (info !== undefined) await (info.isDirectory() ? rmdir(target) : unlink(target));
  if (directory) await mkdir(target, { mode: FOLDER_MODE });
  else await writeFile(target, '', { mode: FILE_MODE, flag: 'wx' });
}
