// Counters as the kernel reports them: nothing here is a rate. Times are totals since a group, a process or an
// interface was created.

export interface StallTimes {
  readonly totalUs: number;
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
}

/** Pressure stall information of one resource. */
export interface Pressure {
  readonly some: StallTimes;
  readonly full: StallTimes;
}

export interface CpuUse {
  readonly usageNs: number;
  readonly userNs: number;
  readonly systemNs: number;
  readonly periods: number;
  readonly throttledPeriods: number;
  readonly throttledNs: number;
  readonly burstPeriods: number;
  readonly burstNs: number;
  readonly pressure?: Pressure;
}

export interface MemoryUse {
  readonly usageBytes: number;
  /** What cannot be reclaimed at once: usage without inactive file pages. */
  readonly workingSetBytes: number;
  readonly rssBytes: number;
  readonly cacheBytes: number;
  readonly mappedFileBytes: number;
  readonly swapBytes: number;
  readonly activeFileBytes: number;
  readonly inactiveFileBytes: number;
  readonly pageFaults: number;
  readonly majorPageFaults: number;
  /** With depth `all` only. */
  readonly kernelBytes: number;
  readonly maxUsageBytes: number;
  readonly failures: number;
  readonly oomKills: number;
  readonly pressure?: Pressure;
}

export type IoOperation = 'Read' | 'Write' | 'Sync' | 'Async' | 'Discard' | 'Total';

export interface DeviceCounts {
  /** `/dev/vda`; empty for a device that has no name. */
  readonly device: string;
  readonly major: number;
  readonly minor: number;
  readonly counts: ReadonlyMap<IoOperation, number>;
}

export interface IoUse {
  readonly bytes: readonly DeviceCounts[];
  readonly operations: readonly DeviceCounts[];
  readonly pressure?: Pressure;
}

/** Measurements of one cgroup at one moment. */
export interface GroupUse {
  /** Wall milliseconds. */
  readonly atMs: number;
  readonly cpu: CpuUse;
  readonly memory: MemoryUse;
  readonly io?: IoUse;
  /** `limit` 0: none. */
  readonly threads?: { current: number; limit: number };
}

/** Limits as cgroups report them; the 9.2e18 of v1 and the `max` of v2 are both Infinity. */
export interface GroupLimits {
  readonly cpuShares: number;
  readonly cpuPeriodUs: number;
  /** 0 for none. */
  readonly cpuQuotaUs: number;
  readonly memoryBytes: number;
  /** v1: memory and swap together; v2: swap alone, as upstream reports each. */
  readonly memorySwapBytes: number;
  readonly memoryReservationBytes: number;
}

export interface ProcessUse {
  readonly processes: number;
  readonly openFiles: number;
  readonly sockets: number;
  /** Soft limit of open files of the first process; -1 for none. */
  readonly openFilesLimit?: number;
}

export interface InterfaceUse {
  readonly name: string;
  readonly rxBytes: number;
  readonly rxPackets: number;
  readonly rxErrors: number;
  readonly rxDropped: number;
  readonly txBytes: number;
  readonly txPackets: number;
  readonly txErrors: number;
  readonly txDropped: number;
}

export interface FsUse {
  readonly atMs: number;
  readonly capacityBytes: number;
  readonly availableBytes: number;
  /** Includes the space reserved for root. */
  readonly freeBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

export interface TreeUse {
  readonly atMs: number;
  readonly usedBytes: number;
  readonly inodesUsed: number;
}

/** I/O counters of a disk of the node (/proc/diskstats). */
export interface DiskUse {
  readonly device: string;
  readonly reads: number;
  readonly readsMerged: number;
  readonly sectorsRead: number;
  readonly readMs: number;
  readonly writes: number;
  readonly writesMerged: number;
  readonly sectorsWritten: number;
  readonly writeMs: number;
  readonly inProgress: number;
  readonly ioMs: number;
  readonly weightedIoMs: number;
}

/**
 * What is read of a group: `cpuAndMemory`; for /stats/summary also the pressure of its I/O; `all` for the detailed view,
 * which takes three times as long. Each one includes those before it.
 */
export type StatsDepth = 'cpuAndMemory' | 'summary' | 'all';

/**
 * Groups by their path below the cgroup mount (`/kubepods/pod1/abc`). These calls return at once: they read kernel
 * files, which are in memory, at about 10 µs each. A missing group results in undefined or an empty list.
 */
export interface GroupStats {
  use(path: string, depth: StatsDepth): GroupUse | undefined;
  /** The memory alone, in half the time of `use`. */
  memory(path: string): MemoryUse | undefined;
  limits(path: string): GroupLimits | undefined;
  children(path: string): string[];
  /** Of the group itself, not of its children. */
  processIds(path: string): number[];
  processUse(path: string): ProcessUse;
  /** Wall milliseconds at which the group was created. */
  createdAtMs(path: string): number | undefined;
  /** Of the process's network namespace; without loopback and host ends of veth pairs, as upstream. */
  interfaces(pid: number): InterfaceUse[];
  disks(): DiskUse[];
  /** The current number of tasks on the node, and the maximum. */
  tasks(): { current: number; limit: number };
}

/** File systems. Request handlers never wait for these calls. */
export interface FsStats {
  /** Of the file system that contains a folder of the node itself. */
  fileSystem(path: string): Promise<FsUse>;
  /** The same for a mount that may be dead; fails after 10 s. */
  remoteFileSystem(path: string): Promise<FsUse>;
  /**
   * The space a tree uses on the node's own disks, without other file systems mounted below it; `Timeout` after
   * `limitMs`.
   */
  tree(path: string, limitMs: number): Promise<TreeUse>;
  /** The device of a folder of the node itself: `/dev/vda1`, or `tmpfs` and the like. */
  device(path: string): Promise<string>;
}

/** The runtime's figures of containers' writable layers and of the image file system. */
export interface RuntimeDiskStats {
  writableLayers(): Promise<ReadonlyMap<string, TreeUse>>;
  /** undefined where the runtime does not report it. */
  imageFs(): Promise<(TreeUse & { mountpoint: string }) | undefined>;
  /** Where writable layers are, if the runtime reports that apart from the images. */
  containerFs?(): Promise<(TreeUse & { mountpoint: string }) | undefined>;
}

/** The identity of this machine, read once. */
export interface MachineIdentity {
  readonly machineId: string;
  readonly systemUuid: string;
  readonly bootId: string;
  /** `Debian GNU/Linux 12 (bookworm)` */
  readonly osVersion: string;
  readonly kernelVersion: string;
  /** Wall milliseconds. */
  readonly bootedAtMs: number;
  readonly cores: number;
  readonly physicalCores: number;
  readonly sockets: number;
  readonly memoryBytes: number;
  readonly swapBytes: number;
}

/** The kernel's notifications about the memory of groups. */
export interface MemoryEvents {
  /** Calls `onEvent` when the group or one below it reaches a limit; returns the function that stops it. */
  watch(path: string, onEvent: () => void): () => void;
}

/** All sources of statistics. */
export interface NodeStatsSources {
  readonly groups: GroupStats;
  readonly fs: FsStats;
  readonly runtime: RuntimeDiskStats;
  readonly machine: MachineIdentity;
  /** Absent where the kernel does not notify (cgroup v1). */
  readonly memoryEvents?: MemoryEvents;
  /** The cgroups of the agent and the runtime; undefined where they cannot be determined. */
  readonly agentGroup: string | undefined;
  readonly runtimeGroup: string | undefined;
}
