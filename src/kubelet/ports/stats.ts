// Counters as the kernel reports them, and no rates. Times are totals since a group, a process or an interface was
// created.

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
  /** The memory that cannot be reclaimed immediately: the usage without inactive file pages. */
  readonly workingSetBytes: number;
  readonly rssBytes: number;
  readonly cacheBytes: number;
  readonly mappedFileBytes: number;
  readonly swapBytes: number;
  readonly activeFileBytes: number;
  readonly inactiveFileBytes: number;
  readonly pageFaults: number;
  readonly majorPageFaults: number;
  /** Set only with depth `all`. */
  readonly kernelBytes: number;
  readonly maxUsageBytes: number;
  readonly failures: number;
  readonly oomKills: number;
  readonly pressure?: Pressure;
}

export type IoOperation = 'Read' | 'Write' | 'Sync' | 'Async' | 'Discard' | 'Total';

export interface DeviceCounts {
  /** For example `/dev/vda`; empty for a device without a name. */
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
  /** Wall-clock milliseconds. */
  readonly atMs: number;
  readonly cpu: CpuUse;
  readonly memory: MemoryUse;
  readonly io?: IoUse;
  /** The threads; `limit` 0 means none. */
  readonly threads?: { current: number; limit: number };
}

/** The limits that cgroups report. The 9.2e18 of v1 and the `max` of v2 are both Infinity. */
export interface GroupLimits {
  readonly cpuShares: number;
  readonly cpuPeriodUs: number;
  /** 0 means no quota. */
  readonly cpuQuotaUs: number;
  readonly memoryBytes: number;
  /** On v1 memory and swap together, on v2 swap alone, as upstream reports each. */
  readonly memorySwapBytes: number;
  readonly memoryReservationBytes: number;
}

export interface ProcessUse {
  readonly processes: number;
  readonly openFiles: number;
  readonly sockets: number;
  /** The soft limit of open files of the first process; -1 for none. */
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
  /** The free space, including that reserved for root. */
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
 * How much is read of a group: `cpuAndMemory`; `summary` adds the pressure of its I/O for /stats/summary; `all` adds
 * the details, which takes three times as long.
 */
export type StatsDepth = 'cpuAndMemory' | 'summary' | 'all';

/**
 * Reads groups by their path below the cgroup mount (`/kubepods/pod1/abc`). These calls are synchronous, because kernel
 * files are in memory and take about 10 µs each. A missing group gives undefined or an empty list.
 */
export interface GroupStats {
  use(path: string, depth: StatsDepth): GroupUse | undefined;
  /** Returns only the memory, in half the time of `use`. */
  memory(path: string): MemoryUse | undefined;
  limits(path: string): GroupLimits | undefined;
  children(path: string): string[];
  /** Returns the processes of the group itself, without its children. */
  processIds(path: string): number[];
  processUse(path: string): ProcessUse;
  /** Returns the wall-clock milliseconds at which the group was created. */
  createdAtMs(path: string): number | undefined;
  /**
   * Returns the interfaces of the process's network namespace, without loopback and host ends of veth pairs, as
   * upstream.
   */
  interfaces(pid: number): InterfaceUse[];
  disks(): DiskUse[];
  /** The current number of tasks on the node, and the maximum. */
  tasks(): { current: number; limit: number };
}

/** Reads file systems. Request handlers never wait for these calls. */
export interface FsStats {
  /** Returns the file system that contains a folder of the node. */
  fileSystem(path: string): Promise<FsUse>;
  /** The same for a mount that may be dead. Rejects after 10 s. */
  remoteFileSystem(path: string): Promise<FsUse>;
  /**
   * Returns the space that a tree uses on the node's own disks, without file systems mounted below it. Rejects with
   * `Timeout` after `limitMs`.
   */
  tree(path: string, limitMs: number): Promise<TreeUse>;
  /** Returns the device of a folder of the node, such as `/dev/vda1` or `tmpfs`. */
  device(path: string): Promise<string>;
}

/** The runtime's figures of writable layers and of the images' file system. */
export interface RuntimeDiskStats {
  writableLayers(): Promise<ReadonlyMap<string, TreeUse>>;
  /** Returns the file system of images; undefined if the runtime does not report it. */
  imageFs(): Promise<(TreeUse & { mountpoint: string }) | undefined>;
  /** Returns the file system of writable layers, if the runtime reports it separately from that of images. */
  containerFs?(): Promise<(TreeUse & { mountpoint: string }) | undefined>;
}

/** The identity of this machine, read once. */
export interface MachineIdentity {
  readonly machineId: string;
  readonly systemUuid: string;
  readonly bootId: string;
  /** For example `Debian GNU/Linux 12 (bookworm)`. */
  readonly osVersion: string;
  readonly kernelVersion: string;
  /** Wall-clock milliseconds. */
  readonly bootedAtMs: number;
  readonly cores: number;
  readonly physicalCores: number;
  readonly sockets: number;
  readonly memoryBytes: number;
  readonly swapBytes: number;
}

/** The kernel's notifications about the memory of groups. */
export interface MemoryEvents {
  /** Calls `onEvent` when the group or one below it reaches a limit. Returns a function that stops it. */
  watch(path: string, onEvent: () => void): () => void;
}

/** All sources of statistics. */
export interface NodeStatsSources {
  readonly groups: GroupStats;
  readonly fs: FsStats;
  readonly runtime: RuntimeDiskStats;
  readonly machine: MachineIdentity;
  /** The notifications; absent if the kernel has none (cgroup v1). */
  readonly memoryEvents?: MemoryEvents;
  /** The cgroups of the agent and the runtime; undefined if they cannot be determined. */
  readonly agentGroup: string | undefined;
  readonly runtimeGroup: string | undefined;
}
