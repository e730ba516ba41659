import { constants } from 'node:fs';
import { mkdir, readFile, readdir, rmdir, open, stat } from 'node:fs/promises';
import { fromErrno } from '../linux-errors.ts';
import { errnoOf, KubeletError } from '../../../base/errors.ts';
import type { MountInfo } from '../../../base/mount-info.ts';

/** The file operations on cgroups. It is an interface, so that the v2 rules can be tested on a machine with v1. */
export interface CgroupFs {
  /**
   * Creates a cgroup. Resolves to whether it was created by this call. Rejects with NotFound if its parent is missing.
   */
  mkdir(path: string): Promise<boolean>;
  /** Removes a cgroup. A missing cgroup is not an error. Rejects with Conflict while it has processes or children. */
  rmdir(path: string): Promise<void>;
  read(path: string): Promise<string>;
  /**
   * Writes a control file. Rejects with NotFound if the file is missing, and with Invalid if the kernel rejects the
   * value.
   */
  write(path: string, value: string): Promise<void>;
  /** Returns the names of its child directories; empty if it is missing. */
  directories(path: string): Promise<string[]>;
  exists(path: string): Promise<boolean>;
}

export const kernelCgroupFs: CgroupFs = {
  async mkdir(path) {
    try {
      await mkdir(path, 0o755);
      return true;
    } catch (error) {
      if (errnoOf(error) === 'EEXIST') return false;
      throw fromErrno(error, 'create cgroup', path);
    }
  },
  async rmdir(path) {
    try {
      await rmdir(path);
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return;
      if (errnoOf(error) === 'ENOTEMPTY' || errnoOf(error) === 'EBUSY')
        throw new KubeletError('Conflict', `remove cgroup ${path}: it is still in use`, {
          op: 'remove cgroup',
          cause: error,
        });
      throw fromErrno(error, 'remove cgroup', path);
    }
  },
  async read(path) {
    try {
      return await readFile(path, 'utf8');
    } catch (error) {
      // If a cgroup is removed while its file is open, reads fail with ENODEV.
      if (errnoOf(error) === 'ENODEV')
        throw new KubeletError('NotFound', `read ${path}: the cgroup is gone`, { op: 'read', cause: error });
      throw fromErrno(error, 'read', path);
    }
  },
  async write(path, value) {
    try {
      // Without O_CREAT and O_TRUNC, because a missing control file must be an error.
      const file = await open(path, constants.O_WRONLY);
      try {
        await file.write(value);
      } finally {
        await file.close();
      }
    } catch (error) {
      throw fromErrno(error, `write ${value} to`, path);
    }
  },
  async directories(path) {
    try {
      return (await readdir(path, { withFileTypes: true }))
        .filter((entry) => entry.isDirectory())
        .map((entry) => entry.name);
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return [];
      throw fromErrno(error, 'list', path);
    }
  },
  async exists(path) {
    try {
      await stat(path);
      return true;
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return false;
      throw fromErrno(error, 'look at', path);
    }
  },
};

export interface CgroupHierarchy {
  readonly mountPath: string;
  /** The names `cpu`, `memory` ..., or `name=systemd` for a hierarchy without controllers. */
  readonly controllers: readonly string[];
}

/**
 * The mount points of the cgroup trees. A hybrid machine (v1 controllers and an empty v2 tree) counts as v1; its v2
 * tree is only cleaned.
 */
export type CgroupLayout =
  | { version: 2; root: string }
  | { version: 1; hierarchies: readonly CgroupHierarchy[]; unifiedRoot?: string };

const v1Controllers = new Set([
  'cpu',
  'cpuacct',
  'cpuset',
  'memory',
  'devices',
  'freezer',
  'blkio',
  'pids',
  'hugetlb',
  'net_cls',
  'net_prio',
  'perf_event',
  'rdma',
  'misc',
]);

/**
 * Detects the layout by upstream's rule: v2 if /sys/fs/cgroup is cgroup2. Of several v1 mounts of one controller, the
 * shortest path is used (k/k#95488).
 */
export function detectCgroupLayout(mounts: readonly MountInfo[], root = '/sys/fs/cgroup'): CgroupLayout {
  const own = mounts.filter((mount) => mount.path === root || mount.path.startsWith(`${root}/`));
  if (own.some((mount) => mount.path === root && mount.fsType === 'cgroup2')) return { version: 2, root };
  const byController = new Map<string, string>();
  for (const mount of own.filter((one) => one.fsType === 'cgroup')) {
    for (const option of mount.superOptions) {
      const before = byController.get(option);
      const known = v1Controllers.has(option) || option.startsWith('name=');
      if (known && (before === undefined || mount.path.length < before.length)) byController.set(option, mount.path);
    }
  }
  const paths = new Map<string, string[]>();
  for (const [controller, path] of byController) paths.set(path, [...(paths.get(path) ?? []), controller]);
  if (paths.size === 0)
    throw new KubeletError('Unavailable', `no cgroup file system is mounted at or below ${root}`, {
      op: 'detect cgroups',
    });
  const unifiedRoot = own.find((mount) => mount.fsType === 'cgroup2')?.path;
  return {
    version: 1,
    hierarchies: [...paths].map(([mountPath, controllers]) => ({ mountPath, controllers })),
    ...(unifiedRoot === undefined ? {} : { unifiedRoot }),
  };
}

/** Returns the huge page sizes of this kernel in bytes; empty if there are none. */
export async function hugePageSizesBytes(folder = '/sys/kernel/mm/hugepages'): Promise<number[]> {
  return (await kernelCgroupFs.directories(folder))
    .map((name) => Number(/^hugepages-(\d+)kB$/.exec(name)?.[1] ?? 0) * 1024)
    .filter((bytes) => bytes > 0)
    .sort((left, right) => left - right);
}

/**
 * Whether the kernel accounts swap per cgroup (upstream: checkSwapControllerAvailability). On v2 the root has no such
 * file, so the agent's own cgroup is checked.
 */
export async function detectSwapControl(
  layout: CgroupLayout,
  fs: Pick<CgroupFs, 'exists' | 'read'> = kernelCgroupFs,
  selfFile = '/proc/self/cgroup',
): Promise<boolean> {
  if (layout.version === 1) {
    const memory = layout.hierarchies.find(({ controllers }) => controllers.includes('memory'));
    return memory !== undefined && fs.exists(`${memory.mountPath}/memory.memsw.limit_in_bytes`);
  }
  const own =
    (await fs.read(selfFile))
      .split('\n')
      .find((line) => line.startsWith('0::'))
      ?.slice('0::'.length) ?? '';
  return fs.exists(`${layout.root}${own === '/' ? '' : own}/memory.swap.max`);
}
