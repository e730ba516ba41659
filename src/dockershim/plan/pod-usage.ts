import type { MountInfo } from '../../base/mount-info.ts';

/**
 * The usage of a pod as the kernel counts it. Absent values are not counted on this machine. Times in nanoseconds,
 * sizes in bytes.
 */
export interface PodUsage {
  readonly cpuNanos?: bigint;
  readonly memory?: PodMemory;
  readonly processes?: bigint;
  readonly interfaces: readonly PodInterface[];
}

export interface PodMemory {
  readonly usage: bigint;
  readonly workingSet: bigint;
  readonly rss: bigint;
  readonly pageFaults: bigint;
  readonly majorPageFaults: bigint;
}

export interface PodInterface {
  readonly name: string;
  readonly rxBytes: bigint;
  readonly rxErrors: bigint;
  readonly txBytes: bigint;
  readonly txErrors: bigint;
}

export type CgroupController = 'cpu' | 'memory' | 'pids';

/** Where the files of a pod's control group are: one folder on version 2, one for each controller on version 1. */
export interface PodGroup {
  readonly version: 1 | 2;
  readonly folders: ReadonlyMap<CgroupController, string>;
}

/** The cgroup v1 controller of each value. */
const v1Names: readonly (readonly [CgroupController, string])[] = [
  ['cpu', 'cpuacct'],
  ['memory', 'memory'],
  ['pids', 'pids'],
];

/**
 * The parent cgroup of a sandbox's process, from /proc/PID/cgroup and the mounts. It contains the cgroups of all
 * containers of the pod. undefined for a process in the root cgroup.
 */
export function podGroupOf(cgroupText: string, mounts: readonly MountInfo[]): PodGroup | undefined {
  const lines = cgroupText.split('\n').map((line) => {
    const [, controllers = '', ...path] = line.split(':');
    return { controllers: controllers.split(','), path: parentOf(path.join(':')) };
  });
  const mounted = (fsType: string, option = ''): string | undefined =>
    mounts.find((each) => each.fsType === fsType && (option === '' || each.superOptions.includes(option)))?.path;
  const folders = new Map<CgroupController, string>();
  for (const [controller, name] of v1Names) {
    const path = lines.find(({ controllers }) => controllers.includes(name))?.path;
    const mount = mounted('cgroup', name);
    if (path !== undefined && mount !== undefined) folders.set(controller, mount + path);
  }
  if (folders.size > 0) return { version: 1, folders };
  const path = lines.find(({ controllers }) => controllers.length === 1 && controllers[0] === '')?.path;
  const mount = mounted('cgroup2');
  if (path === undefined || mount === undefined) return undefined;
  return { version: 2, folders: new Map(v1Names.map(([controller]) => [controller, mount + path])) };
}

function parentOf(path: string): string | undefined {
  const parent = path.slice(0, path.lastIndexOf('/'));
  return parent === '' ? undefined : parent;
}

/** Parses lines of the form `name value`, as in cpu.stat and memory.stat. */
export function flatKeys(text: string): ReadonlyMap<string, bigint> {
  return new Map(
    text.split('\n').flatMap((line): [string, bigint][] => {
      const match = /^(\S+) (\d{1,20})$/.exec(line);
      return match === null ? [] : [[match[1] ?? '', BigInt(match[2] ?? 0)]];
    }),
  );
}

/** Parses a file with one number; undefined when it has none. */
export function soleNumber(text: string): bigint | undefined {
  const trimmed = text.trim();
  return /^\d{1,20}$/.test(trimmed) ? BigInt(trimmed) : undefined;
}

/** From memory.stat of either version. The working set excludes memory that can be reclaimed. */
export function podMemory(usage: bigint, stat: ReadonlyMap<string, bigint>): PodMemory {
  const figure = (...names: readonly string[]): bigint =>
    names.map((name) => stat.get(name)).find((value) => value !== undefined) ?? 0n;
  const inactive = figure('total_inactive_file', 'inactive_file');
  return {
    usage,
    workingSet: usage > inactive ? usage - inactive : 0n,
    rss: figure('total_rss', 'anon'),
    pageFaults: figure('total_pgfault', 'pgfault'),
    majorPageFaults: figure('total_pgmajfault', 'pgmajfault'),
  };
}

/** /proc/PID/net/dev without the loopback interface. */
export function interfacesOf(text: string): PodInterface[] {
  return text.split('\n').flatMap((line) => {
    const [name = '', figures] = line.split(':');
    if (figures === undefined || name.trim() === 'lo') return [];
    const numbers = figures.trim().split(/\s+/);
    const at = (index: number): bigint => soleNumber(numbers[index] ?? '') ?? 0n;
    return [{ name: name.trim(), rxBytes: at(0), rxErrors: at(2), txBytes: at(8), txErrors: at(10) }];
  });
}
