import { chmod, mkdir, readdir, rename, rmdir, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf, errorMessage } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { ProgramResult } from '../../base/run-program.ts';
import type { VolumeDisk } from '../provisioner/volume-disk.ts';
import { isVolumeName } from '../provisioner/volume-name.ts';
import type { ProjectQuota } from './project-quota.ts';

/** The prefix of directories that are being removed. No volume name starts with it. */
const REMOVED = 'removed-';
/** Only root can reach the directories of volumes by path. Pods reach them through mounts. */
const ROOT_MODE = 0o700;
/** Writable for everyone, because a pod may run as any user. */
const VOLUME_MODE = 0o777;

export interface DirectoryDiskOptions {
  /** An absolute path. */
  readonly root: string;
  readonly quota: ProjectQuota;
  readonly run: (program: string, args: readonly string[]) => Promise<ProgramResult>;
  readonly log: Logger;
}

/** Volumes as directories below `root`. Throws for other names, so a name never leads out of `root`. */
export async function openDirectoryDisk({ root, quota, run, log }: DirectoryDiskOptions): Promise<VolumeDisk> {
  await mkdir(root, { recursive: true, mode: ROOT_MODE });
  await chmod(root, ROOT_MODE);
  const pathOf = (name: string): string => {
    if (!isVolumeName(name)) throw new Error(`${JSON.stringify(name)} is not the name of a volume`);
    return join(root, name);
  };
  // rm opens each directory relative to its parent and follows no link, even if a process replaces directories
  // meanwhile.
  const removeTree = async (path: string): Promise<void> => {
    const { exitCode, stderr } = await run('rm', ['-rf', '--one-file-system', '--', path]);
    if (exitCode !== 0) throw new Error(`rm of ${path} failed: ${stderr.trim()}`);
  };
  const disk: VolumeDisk = {
    pathOf: (name) => (isVolumeName(name) ? join(root, name) : ''),
    create: async (name) => {
      try {
        await mkdir(pathOf(name));
      } catch (error) {
        if (errnoOf(error) !== 'EEXIST') throw error;
        return;
      }
      await chmod(pathOf(name), VOLUME_MODE);
    },
    limit: async (name, sizeBytes) => quota.limit(pathOf(name), sizeBytes),
    remove: async (name) => {
      const gone = join(root, `${REMOVED}${name}`);
      // Left by a removal that failed.
      await removeTree(gone);
      try {
        await rename(pathOf(name), gone);
      } catch (error) {
        if (errnoOf(error) !== 'ENOENT') throw error;
      }
      await removeTree(gone);
    },
    removeEmpty: async (name) => {
      try {
        await rmdir(pathOf(name));
      } catch (error) {
        if (errnoOf(error) === 'ENOTEMPTY') return false;
        if (errnoOf(error) !== 'ENOENT') throw error;
      }
      return true;
    },
    freeBytes: async () => {
      const { bavail, bsize } = await statfs(root);
      return bavail * bsize;
    },
    list: async () => (await readdir(root)).filter(isVolumeName),
  };
  // Left by a removal that was interrupted by a stop.
  for (const name of (await readdir(root)).filter((each) => each.startsWith(REMOVED)))
    await removeTree(join(root, name)).catch((error: unknown) =>
      log.warn('A removed volume is still there', { error: errorMessage(error) }),
    );
  return disk;
}
