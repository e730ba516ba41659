import type { CgroupLimits } from '../ports/cgroups.ts';

/** One value for one control file. `controller` decides the hierarchy on v1. */
export interface ControlWrite {
  controller: string;
  file: string;
  value: string;
  /** A file that may be missing on this kernel. */
  optional?: boolean;
}

const unlimitedOr = (value: number): string => (value < 0 ? 'max' : String(value));

/** Shares [2, 262144] to weight [1, 10000], linearly and rounded down (upstream: cm/cgroup_manager_linux.go, getCPUWeight). */
export function cpuWeightOfShares(shares: number): number {
  if (shares >= 262_144) return 10_000;
  return 1 + Math.floor((Math.max(shares, 2) - 2) * 9_999 / 262_142);
}

/** In the order in which they must be written: the period before the quota that is measured in it. */
export function v1Writes(limits: CgroupLimits): ControlWrite[] {
  const writes: ControlWrite[] = [];
  const add = (controller: string, file: string, value: number | undefined, text: (value: number) => string = String): void => {
    if (value !== undefined) writes.push({ controller, file, value: text(value) });
  };
  add('cpu', 'cpu.shares', limits.cpuShares);
  // Absent when the kernel has no CFS bandwidth control; without it "no quota" is already true.
  if (limits.cpuPeriodUs !== undefined) writes.push({ controller: 'cpu', file: 'cpu.cfs_period_us', value: String(limits.cpuPeriodUs), optional: (limits.cpuQuotaUs ?? -1) <= 0 });
  if (limits.cpuQuotaUs !== undefined && limits.cpuQuotaUs !== 0) writes.push({ controller: 'cpu', file: 'cpu.cfs_quota_us', value: String(limits.cpuQuotaUs), optional: limits.cpuQuotaUs < 0 });
  // 0 is upstream's way to say "not set" for these two.
  add('memory', 'memory.limit_in_bytes', limits.memoryBytes === 0 ? undefined : limits.memoryBytes);
  add('pids', 'pids.max', limits.pidsMax, unlimitedOr);
  for (const [size, bytes] of Object.entries(limits.hugetlbBytes ?? {})) {
    writes.push({ controller: 'hugetlb', file: `hugetlb.${size}.limit_in_bytes`, value: String(bytes), optional: true });
  }
  return writes;
}

export function v2Writes(limits: CgroupLimits): ControlWrite[] {
  const writes: ControlWrite[] = [];
  if (limits.cpuShares !== undefined) writes.push({ controller: 'cpu', file: 'cpu.weight', value: String(cpuWeightOfShares(limits.cpuShares)) });
  if (limits.cpuQuotaUs !== undefined && limits.cpuQuotaUs !== 0) {
    const period = limits.cpuPeriodUs === undefined ? '' : ` ${limits.cpuPeriodUs}`;
    writes.push({ controller: 'cpu', file: 'cpu.max', value: `${unlimitedOr(limits.cpuQuotaUs)}${period}`, optional: limits.cpuQuotaUs < 0 });
  }
  if (limits.memoryBytes !== undefined && limits.memoryBytes !== 0) writes.push({ controller: 'memory', file: 'memory.max', value: unlimitedOr(limits.memoryBytes) });
  if (limits.pidsMax !== undefined) writes.push({ controller: 'pids', file: 'pids.max', value: unlimitedOr(limits.pidsMax) });
  for (const [size, bytes] of Object.entries(limits.hugetlbBytes ?? {})) {
    writes.push({ controller: 'hugetlb', file: `hugetlb.${size}.max`, value: String(bytes), optional: true });
  }
  for (const [file, value] of Object.entries(limits.unified ?? {})) writes.push({ controller: file.split('.')[0] ?? '', file, value });
  return writes;
}
