// What the kernel counts, as it says it: nothing here is a rate. Times are totals since a group, a process or an interface came to be.

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
  /** What could not be taken away at once: usage without file pages that were not used lately. */
  workingSetBytes: number;
  rssBytes: number;
  cacheBytes: number;
  mappedFileBytes: number;
  swapBytes: number;
  activeFileBytes: number;
  inactiveFileBytes: number;
  pageFaults: number;
  majorPageFaults: number;
  /** Of depth `all` only. */
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

/** Numbers of one group of processes at one moment. */
export interface GroupUse {
  /** Wall milliseconds. */
  atMs: number;
  cpu: CpuUse;
  memory: MemoryUse;
  io?: IoUse;
  /** `limit` 0: none. */
  threads?: { current: number; limit: number };
}

/** Limits as cgroups have them; the 9.2e18 of v1 and the `max` of v2 are both Infinity. */
export interface GroupLimits {
  cpuShares: number;
  cpuPeriodUs: number;
  /** 0 for none. */
  cpuQuotaUs: number;
  memoryBytes: number;
  /** v1: memory and swap together; v2: swap alone, as upstream shows each. */
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
  /** Also what is kept for root. */
  freeBytes: number;
  inodes: number;
  inodesFree: number;
}

export interface TreeUse {
  atMs: number;
  usedBytes: number;
  inodesUsed: number;
}

/** What a disk of the node has done (/proc/diskstats). */
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

/** `cpuAndMemory` leaves out what only the long listing shows, and is three times as fast. */
export type StatsDepth = 'cpuAndMemory' | 'all';

/**
 * Groups by their path below the cgroup mount (`/kubepods/pod1/abc`). These calls answer at once: they read files of the kernel, which are memory,
 * at about 10 µs each. What is gone is undefined or empty.
 */
export interface GroupStats {
  use(path: string, depth: StatsDepth): GroupUse | undefined;
  limits(path: string): GroupLimits | undefined;
  children(path: string): string[];
  /** Of the group itself, not of those below. */
  processIds(path: string): number[];
  processUse(path: string): ProcessUse;
  /** Wall milliseconds at which the group was made. */
  createdAtMs(path: string): number | undefined;
  /** Of the network that the process is in; without loopback and host ends of pairs, as upstream. */
  interfaces(pid: number): InterfaceUse[];
  disks(): DiskUse[];
  /** Tasks that exist on the node, and the most there can be. */
  tasks(): { current: number; limit: number };
}

/** File systems. Callers never wait for one where they answer. */
export interface FsStats {
  /** Of the file system that a folder of the node itself is on. */
  fileSystem(path: string): Promise<FsUse>;
  /** The same for a mount that may be dead; given up after 10 s. */
  remoteFileSystem(path: string): Promise<FsUse>;
  /** What lies in a tree on the node's own disks, other file systems below it left out; `Timeout` after `limitMs`. */
  tree(path: string, limitMs: number): Promise<TreeUse>;
  /** What a folder of the node itself is on: `/dev/vda1`, or `tmpfs` and the like. */
  device(path: string): Promise<string>;
}

/** What the runtime knows of containers' own layers and of the disk that images are on. */
export interface RuntimeDiskStats {
  writableLayers(): Promise<ReadonlyMap<string, TreeUse>>;
  /** undefined where the runtime does not say. */
  imageFs(): Promise<(TreeUse & { mountpoint: string }) | undefined>;
}

/** What tells this machine from others, read once. */
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

/** All that statistics are made of. */
export interface NodeStatsSources {
  groups: GroupStats;
  fs: FsStats;
  runtime: RuntimeDiskStats;
  machine: MachineIdentity;
  /** Where the agent and the runtime are in the tree of groups; undefined where that cannot be told. */
  agentGroup: string | undefined;
  runtimeGroup: string | undefined;
}
