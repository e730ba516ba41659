import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parseMountInfo } from '../../base/mount-info.ts';
import type { CgroupController, PodGroup, PodUsage } from '../plan/pod-usage.ts';
import { flatKeys, interfacesOf, podGroupOf, podMemory, soleNumber } from '../plan/pod-usage.ts';

const NANOS_PER_MICROSECOND = 1000n;

/**
 * Usage of the pod whose sandbox has this process id. Files that cannot be read are left out: a pod may end at any
 * moment.
 */
export async function readPodUsage(pid: number): Promise<PodUsage> {
  const [cgroup, mounts, network] = await Promise.all(
    [`/proc/${pid}/cgroup`, '/proc/self/mountinfo', `/proc/${pid}/net/dev`].map(textOf),
  );
  const group = podGroupOf(cgroup ?? '', parseMountInfo(mounts ?? ''));
  const interfaces = interfacesOf(network ?? '');
  if (group === undefined) return { interfaces };
  const read = (controller: CgroupController, file: string): Promise<string | undefined> => {
    const folder = group.folders.get(controller);
    return folder === undefined ? Promise.resolve(undefined) : textOf(path.join(folder, file));
  };
  const [cpuNanos, usage, stat, processes] = await Promise.all([
    cpuNanosOf(group, read),
    read('memory', group.version === 2 ? 'memory.current' : 'memory.usage_in_bytes'),
    read('memory', 'memory.stat'),
    read('pids', 'pids.current'),
  ]);
  const bytes = soleNumber(usage ?? '');
  const count = soleNumber(processes ?? '');
  return {
    interfaces,
    ...(cpuNanos !== undefined && { cpuNanos }),
    ...(bytes !== undefined && { memory: podMemory(bytes, flatKeys(stat ?? '')) }),
    ...(count !== undefined && { processes: count }),
  };
}

async function cpuNanosOf(
  { version }: PodGroup,
  read: (controller: CgroupController, file: string) => Promise<string | undefined>,
): Promise<bigint | undefined> {
  if (version === 1) return soleNumber((await read('cpu', 'cpuacct.usage')) ?? '');
  const micros = flatKeys((await read('cpu', 'cpu.stat')) ?? '').get('usage_usec');
  return micros === undefined ? undefined : micros * NANOS_PER_MICROSECOND;
}

/** Files of the kernel have at most a few pages. */
async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch {
    return undefined;
  }
}
