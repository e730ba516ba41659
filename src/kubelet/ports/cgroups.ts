/**
 * The limits of one cgroup in units of cgroup v1, which the adapter converts to v2. undefined leaves a value unchanged.
 */
export interface CgroupLimits {
  readonly cpuShares?: number;
  /** Microseconds per period; -1 for none. */
  cpuQuotaUs?: number;
  cpuPeriodUs?: number;
  /** -1 for none. */
  memoryBytes?: number;
  /** -1 for none. */
  pidsMax?: number;
  hugetlbBytes?: Readonly<Record<string, number>>;
  unified?: Readonly<Record<string, string>>;
}

/** The values in a cgroup's own files; -1 for no limit. */
export interface CgroupValues {
  readonly cpuShares: number;
  readonly cpuQuotaUs: number;
  readonly cpuPeriodUs: number;
  readonly memoryBytes: number;
  readonly memoryUsageBytes: number;
}

/**
 * The cgroup tree. Names are paths below the root, such as `/kubepods/burstable/pod<uid>`. The adapter handles version,
 * driver and mounts.
 */
export interface Cgroups {
  readonly version: 1 | 2;
  readonly driver: 'cgroupfs' | 'systemd';
  /** Whether swap can be limited per group. */
  readonly swapControl: boolean;
  /** Returns the value of CRI's cgroup_parent for this name (a slice name with systemd). */
  runtimeParent(name: string): string;
  exists(name: string): Promise<boolean>;
  /** Returns the folders that are missing, one per tree; none if the cgroup exists. */
  missingPaths(name: string): Promise<readonly string[]>;
  /** Creates the cgroup with its parents, and applies the limits. */
  ensure(name: string, limits: CgroupLimits): Promise<void>;
  update(name: string, limits: CgroupLimits): Promise<void>;
  /**
   * Reads the values. Rejects with NotFound for a missing cgroup. A value whose controller this machine lacks reads as
   * no limit.
   */
  read(name: string): Promise<CgroupValues>;
  /**
   * Removes the cgroup without killing processes. Rejects with `Conflict` if it contains any. A missing cgroup is not
   * an error.
   */
  remove(name: string): Promise<void>;
  /** Returns the processes in the group and below it. */
  processes(name: string): Promise<number[]>;
  kill(name: string): Promise<void>;
  /** Returns the names of the direct children. */
  children(name: string): Promise<string[]>;
}
