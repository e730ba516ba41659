import { closeSync, openSync, readdirSync, readlinkSync, readSync, statSync } from 'node:fs';
import type {
  DiskUse,
  GroupLimits,
  GroupStats,
  GroupUse,
  InterfaceUse,
  MemoryUse,
  Pressure,
  ProcessUse,
  StatsDepth,
} from '../../ports/stats.ts';
import type { CgroupLayout } from '../cgroups/linux-cgroups-fs.ts';
import type { GroupFormat, ReadControl } from './group-files.ts';
import { v1Format, v2Format } from './group-files.ts';
import { limitOf, numberOf, parseDisks, parseInterfaces, parseOpenFilesLimit, parsePressure } from './kernel-text.ts';

export interface LinuxGroupStatsOptions {
  readonly layout: CgroupLayout;
  readonly nowMs: () => number;
  readonly proc?: string;
}

const BUFFER_BYTES = 64 * 1024;
/** The maximum age of the list of disks, which are plugged in or change their schedulers now and then. */
const DEVICES_AGE_MS = 60_000;
/**
 * The maximum number of open files of a process that are inspected. A process may have a million, and the others are
 * only counted.
 */
const SOCKETS_LOOKED_AT = 5000;

/**
 * Reads the figures of groups from the kernel. Files are opened for each read: of the 9 µs that this takes, an open
 * descriptor would save two, and each costs the kernel a page.
 */
export class LinuxGroupStats implements GroupStats {
  readonly #options: LinuxGroupStatsOptions;
  readonly #proc: string;
  readonly #format: GroupFormat;
  readonly #roots: ReadonlyMap<string, string>;
  readonly #buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  #devices = new Map<string, string>();
  #devicesAtMs = 0;
  #isScheduled = false;

  constructor(options: LinuxGroupStatsOptions) {
    this.#options = options;
    this.#proc = options.proc ?? '/proc';
    this.#format = options.layout.version === 2 ? v2Format : v1Format;
    this.#roots = rootsOf(options.layout);
  }

  use(path: string, depth: StatsDepth): GroupUse | undefined {
    const use = this.#useOf(path, depth);
    return use !== undefined && path === '/' && this.#options.layout.version === 1 && depth !== 'cpuAndMemory'
      ? this.#withPressure(use)
      : use;
  }

  #useOf(path: string, depth: StatsDepth): GroupUse | undefined {
    const read = this.#controls(path);
    const atMs = this.#options.nowMs();
    const cpu = this.#format.cpu(read, depth);
    const memory = this.#format.memory(read, depth);
    if (cpu === undefined || memory === undefined) return undefined;
    if (depth === 'cpuAndMemory') return { atMs, cpu, memory };
    if (depth === 'summary') {
      const pressure = this.#format.ioPressure(read);
      return { atMs, cpu, memory, io: { bytes: [], operations: [], ...(pressure !== undefined && { pressure }) } };
    }
    this.#lookAtDevices();
    const limit = limitOf(read('pids', 'pids.max'));
    return {
      atMs,
      cpu,
      memory,
      io: this.#format.io(read, (major, minor) => this.#devices.get(`${major}:${minor}`) ?? '', this.#isScheduled),
      threads: { current: numberOf(read('pids', 'pids.current')), limit: limit === Infinity ? 0 : limit },
    };
  }

  /**
   * Adds the pressure. Groups of cgroup v1 have none, but the machine has: the same figures as those of the root group
   * of v2.
   */
  #withPressure(use: GroupUse): GroupUse {
    const of = (resource: string): { pressure?: Pressure } => {
      const pressure = parsePressure(this.#read(`${this.#proc}/pressure/${resource}`));
      return pressure === undefined ? {} : { pressure };
    };
    const io = use.io ?? { bytes: [], operations: [] };
    return {
      ...use,
      cpu: { ...use.cpu, ...of('cpu') },
      memory: { ...use.memory, ...of('memory') },
      io: { ...io, ...of('io') },
    };
  }

  memory(path: string): MemoryUse | undefined {
    return this.#format.memory(this.#controls(path), 'cpuAndMemory');
  }

  limits(path: string): GroupLimits | undefined {
    return this.#folder('cpu', path) === undefined ? undefined : this.#format.limits(this.#controls(path));
  }

  children(path: string): string[] {
    const folder = this.#folder('memory', path);
    return folder === undefined ? [] : entriesOf(folder, { directories: true });
  }

  processIds(path: string): number[] {
    const folder = this.#folder('cpu', path);
    return folder === undefined
      ? []
      : (this.#read(`${folder}/cgroup.procs`) ?? '')
          .split('\n')
          .filter((line) => line !== '')
          .map(Number);
  }

  processUse(path: string): ProcessUse {
    const pids = this.processIds(path);
    const use = { processes: pids.length, openFiles: 0, sockets: 0 };
    let left = SOCKETS_LOOKED_AT;
    for (const pid of pids) {
      const folder = `${this.#proc}/${pid}/fd`;
      const counted = countFiles(folder);
      if (counted > SOCKETS_LOOKED_AT) {
        use.openFiles += counted;
        continue;
      }
      const files = entriesOf(folder);
      use.openFiles += files.length;
      for (const file of files.slice(0, left)) if (isSocket(`${folder}/${file}`)) use.sockets++;
      left = Math.max(0, left - files.length);
    }
    const limits = pids[0] === undefined ? undefined : this.#read(`${this.#proc}/${pids[0]}/limits`);
    const openFilesLimit = limits === undefined ? undefined : parseOpenFilesLimit(limits);
    return { ...use, ...(openFilesLimit !== undefined && { openFilesLimit }) };
  }

  createdAtMs(path: string): number | undefined {
    const folder = this.#folder('cpu', path);
    return folder === undefined ? undefined : statSync(folder, { throwIfNoEntry: false })?.mtimeMs;
  }

  interfaces(pid: number): InterfaceUse[] {
    return parseInterfaces(this.#read(`${this.#proc}/${pid}/net/dev`) ?? '');
  }

  disks(): DiskUse[] {
    return parseDisks(this.#read(`${this.#proc}/diskstats`) ?? '').map(
      ({ major: _major, minor: _minor, ...disk }) => disk,
    );
  }

  tasks(): { current: number; limit: number } {
    const limits = ['pid_max', 'threads-max'].map((file) => limitOf(this.#read(`${this.#proc}/sys/kernel/${file}`)));
    const running = (this.#read(`${this.#proc}/loadavg`) ?? '').split(' ')[3] ?? '';
    return { current: Number(running.split('/')[1] ?? 0), limit: Math.min(...limits) };
  }

  #controls(path: string): ReadControl {
    return (controller, file) => {
      const folder = this.#folder(controller, path);
      return folder === undefined ? undefined : this.#read(`${folder}/${file}`);
    };
  }

  #folder(controller: string, path: string): string | undefined {
    const root = this.#roots.get(controller) ?? this.#roots.get('');
    return root === undefined ? undefined : path === '/' ? root : root + path;
  }

  /** Reads a file; undefined if it does not exist or is being removed. */
  #read(file: string): string | undefined {
    let descriptor: number | undefined;
    try {
      descriptor = openSync(file, 'r');
      const length = readSync(descriptor, this.#buffer, 0, BUFFER_BYTES, 0);
      return this.#buffer.toString('latin1', 0, length);
    } catch {
      // ENOENT, ENODEV (a group that is being removed), ESRCH (an ended process) or EOPNOTSUPP (pressure is switched
      // off).
      return undefined;
    } finally {
      if (descriptor !== undefined) closeSync(descriptor);
    }
  }

  #lookAtDevices(): void {
    if (this.#devices.size > 0 && Math.abs(this.#options.nowMs() - this.#devicesAtMs) < DEVICES_AGE_MS) return;
    this.#devices = new Map(
      parseDisks(this.#read(`${this.#proc}/diskstats`) ?? '').map((disk) => [
        `${disk.major}:${disk.minor}`,
        disk.device,
      ]),
    );
    this.#isScheduled = this.#format.isScheduled(this.#controls('/'));
    this.#devicesAtMs = this.#options.nowMs();
  }
}

/** Returns the mounts by controller. On v2 there is one for all, with an empty name. */
function rootsOf(layout: CgroupLayout): ReadonlyMap<string, string> {
  if (layout.version === 2) return new Map([['', layout.root]]);
  return new Map(
    layout.hierarchies.flatMap(({ mountPath, controllers }) =>
      controllers.map((controller) => [controller, mountPath] as const),
    ),
  );
}

function entriesOf(folder: string, only: { directories: boolean } = { directories: false }): string[] {
  try {
    if (!only.directories) return readdirSync(folder);
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
  } catch {
    return [];
  }
}

/** Returns the number of descriptors. The kernel reports it without a list since 6.2; before, the result is 0. */
function countFiles(folder: string): number {
  try {
    return statSync(folder).size;
  } catch {
    return 0;
  }
}

function isSocket(path: string): boolean {
  try {
    return readlinkSync(path).startsWith('socket:');
  } catch {
    return false;
  }
}
