// Counters as the kernel reports them: nothing here is a rate. Times are totals since a group, a process or an
// interface was created.

export interface StallTimes {
  totalUs: number;
  avg10: number;
  avg60: number;
  avg300: number;
}

/** Pressure stall information of one resource. */
export interface Pressure {
  some: StallTimes;
  full: StallTimes;
}

export interface CpuUse {
  usageNs: number;
  userNs: number;
  systemNs: number;
  periods: number;
  throttledPeriods: number;
  throttledNs: number;
  burstPeriods: number;
  burstNs: number;
  pressure?: Pressure;
}

export interface MemoryUse {
  usageBytes: number;
  /** What cannot be reclaimed at once: usage without inactive file pages. */
  workingSetBytes: number;
  rssBytes: number;
  cacheBytes: number;
  mappedFileBytes: number;
  swapBytes: number;
  activeFileBytes: number;
  inactiveFileBytes: number;
  pageFaults: number;
  majorPageFaults: number;
  /** With depth `all` only. */
  kernelBytes: number;
  maxUsageBytes: number;
  failures: number;
  oomKills: number;
  pressure?: Pressure;
}

export type IoOperation = 'Read' | 'Write' | 'Sync' | 'Async' | 'Discard' | 'Total';

export interface DeviceCounts {
  /** `/dev/vda`; empty for a device that has no name. */
  device: string;
  major: number;
  minor: number;
  counts: ReadonlyMap<IoOperation, number>;
}

export interface IoUse {
  bytes: readonly DeviceCounts[];
  operations: readonly DeviceCounts[];
  pressure?: Pressure;
}

/** Measurements of one cgroup at one moment. */
export interface GroupUse {
  /** Wall milliseconds. */
  atMs: number;
  cpu: CpuUse;
  memory: MemoryUse;
  io?: IoUse;
  /** `limit` 0: none. */
  threads?: { current: number; limit: number };
}

/** Limits as cgroups report them; the 9.2e18 of v1 and the `max` of v2 are both Infinity. */
export interface GroupLimits {
  cpuShares: number;
  cpuPeriodUs: number;
  /** 0 for none. */
  cpuQuotaUs: number;
  memoryBytes: number;
  /** v1: memory and swap together; v2: swap alone, as upstream reports each. */
  memorySwapBytes: number;
  memoryReservationBytes: number;
}

export interface ProcessUse {
  processes: number;
  openFiles: number;
  sockets: number;
  /** Soft limit of open files of the first process; -1 for none. */
  openFilesLimit?: number;
}

export interface InterfaceUse {
  name: string;
  rxBytes: number;
  rxPackets: number;
  rxErrors: number;
  rxDropped: number;
  txBytes: number;
  txPackets: number;
  txErrors: number;
  txDropped: number;
}

export interface FsUse {
  atMs: number;
  capacityBytes: number;
  availableBytes: number;
  /** Includes the space reserved for root. */
  freeBytes: number;
  inodes: number;
  inodesFree: number;
}

export interface TreeUse {
  atMs: number;
  usedBytes: number;
  inodesUsed: number;
}

/** I/O counters of a disk of the node (/proc/diskstats). */
export interface DiskUse {
  device: string;
  reads: number;
  readsMerged: number;
  sectorsRead: number;
  readMs: number;
  writes: number;
  writesMerged: number;
  sectorsWritten: number;
  writeMs: number;
  inProgress: number;
  ioMs: number;
  weightedIoMs: number;
}

/** `cpuAndMemory` omits what only the detailed view shows, and is three times as fast. */
export type StatsDepth = 'cpuAndMemory' | 'all';

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
  machineId: string;
  systemUuid: string;
  bootId: string;
  /** `Debian GNU/Linux 12 (bookworm)` */
  osVersion: string;
  kernelVersion: string;
  /** Wall milliseconds. */
  bootedAtMs: number;
  cores: number;
  physicalCores: number;
  sockets: number;
  memoryBytes: number;
  swapBytes: number;
}

/** The kernel's notifications about the memory of groups. */
export interface MemoryEvents {
  /** Calls `onEvent` when the group or one below it reaches a limit; returns the function that stops it. */
  watch(path: string, onEvent: () => void): () => void;
}

/** All sources of statistics. */
export interface NodeStatsSources {
  groups: GroupStats;
  fs: FsStats;
  runtime: RuntimeDiskStats;
  machine: MachineIdentity;
  /** Absent where the kernel does not notify (cgroup v1). */
  memoryEvents?: MemoryEvents;
  /** The cgroups of the agent and the runtime; undefined where they cannot be determined. */
  agentGroup: string | undefined;
  runtimeGroup: string | undefined;
}
