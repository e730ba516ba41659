/** The instance's own cgroup in every hierarchy of the machine: v1, hybrid or v2. */
import { errnoOf } from '../base/errors.ts';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseMountInfo } from '../base/mount-info.ts';
import { describeProcess, isAlive, signalProcess, waitUntil } from './processes.ts';

export interface CgroupHierarchies {
  readonly v1: string[];
  readonly v2: string[];
}

export function findHierarchies(mountInfo: string = readFileSync('/proc/self/mountinfo', 'utf8')): CgroupHierarchies {
  const mounts = parseMountInfo(mountInfo);
  const ofType = (type: string): string[] => [
    ...new Set(mounts.flatMap(({ fsType, path }) => (fsType === type ? [path] : []))),
  ];
  return { v1: ofType('cgroup'), v2: ofType('cgroup2') };
}

/** Creates the cgroup and, on v2, enables the controllers for its children. */
export function ensureCgroupRoot(path: string): void {
  const { v1, v2 } = findHierarchies();
  for (const mount of [...v1, ...v2]) mkdirSync(join(mount, path), { recursive: true });
  for (const mount of v1.filter((point) => existsSync(join(point, 'cpuset.cpus')))) {
    // An empty v1 cpuset accepts no processes until its processors and memory nodes are set.
    for (const file of ['cpuset.cpus', 'cpuset.mems']) {
      if (readFileSync(join(mount, path, file), 'utf8').trim() === '')
        writeFileSync(join(mount, path, file), readFileSync(join(mount, file)));
    }
  }
  for (const mount of v2) {
    for (const folder of [mount, join(mount, path)]) delegateControllers(folder);
  }
}

function delegateControllers(folder: string): void {
  for (const controller of readFileSync(join(folder, 'cgroup.controllers'), 'utf8').trim().split(' ').filter(Boolean)) {
    try {
      writeFileSync(join(folder, 'cgroup.subtree_control'), `+${controller}`);
    } catch (error) {
      // Some controllers cannot be enabled for children (cpu while real-time processes exist). The agent reports which
      // it misses.
      if (!['EBUSY', 'EINVAL', 'EOPNOTSUPP', 'EPERM', 'ENOENT'].includes(errnoOf(error) ?? '')) throw error;
    }
  }
}

/** The folders of the cgroup tree, deepest first, in all hierarchies. */
export function listCgroupTree(path: string): string[] {
  const { v1, v2 } = findHierarchies();
  return [...v1, ...v2].flatMap((mount) => listBelow(join(mount, path)));
}

function listBelow(folder: string): string[] {
  try {
    const children = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    return [...children.flatMap((entry) => listBelow(join(folder, entry.name))), folder];
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return [];
    throw error;
  }
}

/** Kills every process in the tree and removes the tree. Returns what could not be removed. */
export async function removeCgroupTree(path: string): Promise<string[]> {
  await waitUntil(
    () => {
      const folders = listCgroupTree(path);
      const pids = new Set(folders.flatMap(readPids));
      for (const pid of pids) {
        const record = describeProcess(pid);
        if (isAlive(record)) signalProcess(record, 'SIGKILL');
      }
      for (const folder of folders) tryRemove(folder);
      return listCgroupTree(path).length === 0;
    },
    5000,
    20,
  );
  return listCgroupTree(path);
}

function readPids(folder: string): number[] {
  try {
    return readFileSync(join(folder, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number);
  } catch {
    return []; // It was removed meanwhile, or it is a threaded v2 group, whose parent lists its processes.
  }
}

function tryRemove(folder: string): void {
  try {
    rmdirSync(folder);
  } catch (error) {
    if (!['EBUSY', 'ENOENT', 'ENOTEMPTY'].includes(errnoOf(error) ?? '')) throw error;
  }
}
