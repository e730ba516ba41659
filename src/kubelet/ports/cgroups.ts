/** Limits of one cgroup in units of cgroup v1; the adapter converts them to v2. undefined leaves a value unchanged. */
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
 * The cgroup tree. Names are paths below the root, `/kubepods/burstable/pod<uid>`; the adapter handles version, driver
 * and mounts.
 */
export interface Cgroups {
  readonly version: 1 | 2;
  readonly driver: 'cgroupfs' | 'systemd';
  /** Whether swap can be limited per group. */
  readonly swapControl: boolean;
  /** The value of CRI's cgroup_parent for this name (systemd: a slice name). */
  runtimeParent(name: string): string;
  exists(name: string): Promise<boolean>;
  /** The folders that the group lacks, one in each tree; none when it exists. */
  missingPaths(name: string): Promise<readonly string[]>;
  /** Creates it with its parents, and applies the limits. */
  ensure(name: string, limits: CgroupLimits): Promise<void>;
  update(name: string, limits: CgroupLimits): Promise<void>;
  /** NotFound for a missing group. A value without a controller on this machine reads as no limit. */
  read(name: string): Promise<CgroupValues>;
  /**
   * Removes the cgroup without killing processes: `Conflict` if it still contains some. A missing cgroup is success.
   */
  remove(name: string): Promise<void>;
  /** Processes in the group and below it. */
  processes(name: string): Promise<number[]>;
  kill(name: string): Promise<void>;
  /** Names of the direct children. */
  children(name: string): Promise<string[]>;
}
