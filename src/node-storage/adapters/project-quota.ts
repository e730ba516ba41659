import { readFile } from 'node:fs/promises';
import { errorMessage } from '../../base/errors.ts';
import { fnv32a } from '../../base/fnv32a.ts';
import type { Logger } from '../../base/log.ts';
import { mountOf, parseMountInfo } from '../../base/mount-info.ts';
import type { ProgramResult } from '../../base/run-program.ts';

/** Limits directories by project quotas of ext4 and XFS. */
export interface ProjectQuota {
  /** Resolves with whether the limit is enforced. */
  limit(path: string, sizeBytes: number): Promise<boolean>;
}

export interface QuotaMount {
  readonly path: string;
  readonly type: 'ext4' | 'xfs';
}

/** The mount that holds `path`, if it counts project quotas. `mountInfo` is the text of /proc/self/mountinfo. */
export function findQuotaMount(mountInfo: string, path: string): QuotaMount | undefined {
  const mount = mountOf(parseMountInfo(mountInfo), path);
  if (mount === undefined || (mount.fsType !== 'ext4' && mount.fsType !== 'xfs')) return undefined;
  const counts = mount.superOptions.includes('prjquota') || mount.superOptions.includes('pquota');
  return counts ? { path: mount.path, type: mount.fsType } : undefined;
}

/**
 * Project ids of volumes start here, far above the ids that administrators assign by hand. The hash adds up to 30 bits,
 * so the id fits into 31.
 */
const FIRST_PROJECT = 0x4000_0000;

/**
 * The project id of a volume, computed from its name, so that it is the same after every restart: 30 bits of FNV-1a. If
 * two names had the same hash, the volumes would share one limit; for each pair the chance is one in a billion.
 */
export const projectOf = (path: string): number => FIRST_PROJECT + (fnv32a(path) % FIRST_PROJECT);

/** The commands that give a directory a project and the project a limit. Blocks of `setquota` have 1 KiB. */
export function quotaCommands({ path: mount, type }: QuotaMount, path: string, sizeBytes: number): readonly string[][] {
  const project = String(projectOf(path));
  const kibibytes = String(Math.ceil(sizeBytes / 1024));
  return type === 'ext4'
    ? [
        ['chattr', '-p', project, '+P', path],
        ['setquota', '-P', project, '0', kibibytes, '0', '0', mount],
      ]
    : [
        ['xfs_quota', '-x', '-c', `project -s -p ${path} ${project}`, mount],
        ['xfs_quota', '-x', '-c', `limit -p bhard=${kibibytes}k ${project}`, mount],
      ];
}

export interface ProjectQuotaOptions {
  readonly run: (program: string, args: readonly string[]) => Promise<ProgramResult>;
  readonly log: Logger;
  readonly readMounts?: () => Promise<string>;
}

/** A limit that cannot be set is reported. The volume is created anyway. */
export function createProjectQuota({ run, log, readMounts = readOwnMounts }: ProjectQuotaOptions): ProjectQuota {
  return {
    limit: async (path, sizeBytes) => {
      const mount = findQuotaMount(await readMounts(), path);
      if (mount === undefined) return false;
      try {
        for (const [program = '', ...args] of quotaCommands(mount, path, sizeBytes)) {
          const { exitCode, stderr } = await run(program, args);
          if (exitCode !== 0) throw new Error(`${program}: ${stderr.trim()}`);
        }
        return true;
      } catch (error) {
        log.warn('The size of a volume is not enforced', { path, error: errorMessage(error) });
        return false;
      }
    },
  };
}

const readOwnMounts = (): Promise<string> => readFile('/proc/self/mountinfo', 'utf8');
