import type { CpuUse, GroupLimits, IoUse, MemoryUse, Pressure, StatsDepth } from '../../ports/stats.ts';
import type { DeviceName } from './kernel-text.ts';
import { keyedNumber, limitOf, numberOf, parseBlkio, parseIoStat, parsePressure } from './kernel-text.ts';

/** Reads the text of a control file of one group; undefined if the group or the file does not exist. */
export type ReadControl = (controller: string, file: string) => string | undefined;

const NS_PER_US = 1000;
/** The unit of cpuacct.stat. User space always sees 100 ticks a second. */
const NS_PER_TICK = 10_000_000;
const MIN_SHARES = 2;

/** Reads the figures of one group; undefined if it was removed. */
export interface GroupFormat {
  cpu(read: ReadControl, depth: StatsDepth): CpuUse | undefined;
  memory(read: ReadControl, depth: StatsDepth): MemoryUse | undefined;
  /** Returns the I/O pressure, which is part of `io`. */
  ioPressure(read: ReadControl): Pressure | undefined;
  io(read: ReadControl, deviceName: DeviceName, scheduled: boolean): IoUse;
  /** Whether an I/O scheduler has its own counters. It is read from the root group. */
  isScheduled(read: ReadControl): boolean;
  limits(read: ReadControl): GroupLimits;
}

const noMemory: MemoryUse = {
  usageBytes: 0,
  workingSetBytes: 0,
  rssBytes: 0,
  cacheBytes: 0,
  mappedFileBytes: 0,
  swapBytes: 0,
  activeFileBytes: 0,
  inactiveFileBytes: 0,
  pageFaults: 0,
  majorPageFaults: 0,
  kernelBytes: 0,
  maxUsageBytes: 0,
  failures: 0,
  oomKills: 0,
};

/** Returns the working set. As upstream, it is never below zero. */
function workingSet(usageBytes: number, inactiveFileBytes: number): number {
  return Math.max(0, usageBytes - inactiveFileBytes);
}

export const v1Format: GroupFormat = {
  cpu(read, depth) {
    const usage = read('cpuacct', 'cpuacct.usage');
    if (usage === undefined) return undefined;
    const stat = depth === 'all' ? (read('cpu', 'cpu.stat') ?? '') : '';
    const ticks = depth === 'all' ? (read('cpuacct', 'cpuacct.stat') ?? '') : '';
    return {
      usageNs: numberOf(usage),
      userNs: keyedNumber(ticks, 'user') * NS_PER_TICK,
      systemNs: keyedNumber(ticks, 'system') * NS_PER_TICK,
      periods: keyedNumber(stat, 'nr_periods'),
      throttledPeriods: keyedNumber(stat, 'nr_throttled'),
      throttledNs: keyedNumber(stat, 'throttled_time'),
      burstPeriods: keyedNumber(stat, 'nr_bursts'),
      burstNs: keyedNumber(stat, 'burst_time'),
    };
  },
  memory(read, depth) {
    const stat = read('memory', 'memory.stat');
    const usage = read('memory', 'memory.usage_in_bytes');
    if (stat === undefined || usage === undefined) return undefined;
    const usageBytes = numberOf(usage);
    const inactiveFileBytes = keyedNumber(stat, 'total_inactive_file');
    return {
      ...noMemory,
      usageBytes,
      workingSetBytes: workingSet(usageBytes, inactiveFileBytes),
      rssBytes: keyedNumber(stat, 'total_rss'),
      cacheBytes: keyedNumber(stat, 'total_cache'),
      mappedFileBytes: keyedNumber(stat, 'total_mapped_file'),
      swapBytes: keyedNumber(stat, 'total_swap'),
      activeFileBytes: keyedNumber(stat, 'total_active_file'),
      inactiveFileBytes,
      // This is for the group alone, while all other figures include child groups (upstream: setMemoryStats).
      pageFaults: keyedNumber(stat, 'pgfault'),
      majorPageFaults: keyedNumber(stat, 'pgmajfault'),
      ...(depth === 'all' && {
        kernelBytes: numberOf(read('memory', 'memory.kmem.usage_in_bytes')),
        maxUsageBytes: numberOf(read('memory', 'memory.max_usage_in_bytes')),
        failures: numberOf(read('memory', 'memory.failcnt')),
        oomKills: keyedNumber(read('memory', 'memory.oom_control') ?? '', 'oom_kill'),
      }),
    };
  },
  ioPressure: () => undefined,
  isScheduled(read) {
    return parseBlkio(read('blkio', 'blkio.bfq.io_serviced_recursive'), () => '').length > 0;
  },
  io(read, deviceName, scheduled) {
    // Uses the I/O scheduler's counter if there is one, else the throttling counter (upstream: fs/blkio.go).
    const pick = (what: string) =>
      parseBlkio(read('blkio', `blkio.${scheduled ? 'bfq' : 'throttle'}.${what}_recursive`), deviceName);
    return { bytes: pick('io_service_bytes'), operations: pick('io_serviced') };
  },
  limits(read) {
    const quotaUs = limitOf(read('cpu', 'cpu.cfs_quota_us'));
    return {
      cpuShares: numberOf(read('cpu', 'cpu.shares')),
      cpuPeriodUs: numberOf(read('cpu', 'cpu.cfs_period_us')),
      cpuQuotaUs: quotaUs === Infinity ? 0 : quotaUs,
      memoryBytes: limitOf(read('memory', 'memory.limit_in_bytes')),
      memorySwapBytes: limitOf(read('memory', 'memory.memsw.limit_in_bytes')),
      memoryReservationBytes: limitOf(read('memory', 'memory.soft_limit_in_bytes')),
    };
  },
};

export const v2Format: GroupFormat = {
  cpu(read) {
    const stat = read('cpu', 'cpu.stat');
    if (stat === undefined) return undefined;
    const pressure = parsePressure(read('cpu', 'cpu.pressure'));
    return {
      usageNs: keyedNumber(stat, 'usage_usec') * NS_PER_US,
      userNs: keyedNumber(stat, 'user_usec') * NS_PER_US,
      systemNs: keyedNumber(stat, 'system_usec') * NS_PER_US,
      periods: keyedNumber(stat, 'nr_periods'),
      throttledPeriods: keyedNumber(stat, 'nr_throttled'),
      throttledNs: keyedNumber(stat, 'throttled_usec') * NS_PER_US,
      burstPeriods: keyedNumber(stat, 'nr_bursts'),
      burstNs: keyedNumber(stat, 'burst_usec') * NS_PER_US,
      ...(pressure !== undefined && { pressure }),
    };
  },
  memory(read, depth) {
    const stat = read('memory', 'memory.stat');
    if (stat === undefined) return undefined;
    const anonymousBytes = keyedNumber(stat, 'anon');
    const fileBytes = keyedNumber(stat, 'file');
    const current = read('memory', 'memory.current');
    // The root group has no total.
    const usageBytes = current === undefined ? anonymousBytes + fileBytes : numberOf(current);
    const inactiveFileBytes = keyedNumber(stat, 'inactive_file');
    const events = depth === 'all' ? (read('memory', 'memory.events') ?? '') : '';
    const pressure = parsePressure(read('memory', 'memory.pressure'));
    return {
      ...noMemory,
      usageBytes,
      workingSetBytes: workingSet(usageBytes, inactiveFileBytes),
      rssBytes: anonymousBytes,
      cacheBytes: fileBytes,
      mappedFileBytes: keyedNumber(stat, 'file_mapped'),
      swapBytes: numberOf(read('memory', 'memory.swap.current')),
      activeFileBytes: keyedNumber(stat, 'active_file'),
      inactiveFileBytes,
      pageFaults: keyedNumber(stat, 'pgfault'),
      majorPageFaults: keyedNumber(stat, 'pgmajfault'),
      ...(depth === 'all' && {
        // Upstream leaves this at zero on v2. The kernel reports it since 5.18.
        kernelBytes: keyedNumber(stat, 'kernel'),
        maxUsageBytes: numberOf(read('memory', 'memory.peak')),
        failures: keyedNumber(events, 'max'),
        oomKills: keyedNumber(events, 'oom_kill'),
      }),
      ...(pressure !== undefined && { pressure }),
    };
  },
  ioPressure: (read) => parsePressure(read('io', 'io.pressure')),
  isScheduled() {
    return false;
  },
  io(read, deviceName) {
    const pressure = v2Format.ioPressure(read);
    return { ...parseIoStat(read('io', 'io.stat'), deviceName), ...(pressure !== undefined && { pressure }) };
  },
  limits(read) {
    const [quota, period] = (read('cpu', 'cpu.max') ?? 'max 100000').trim().split(' ');
    const weight = read('cpu', 'cpu.weight');
    return {
      cpuShares: weight === undefined ? 0 : sharesOf(numberOf(weight)),
      cpuPeriodUs: Number(period),
      cpuQuotaUs: quota === 'max' ? 0 : Number(quota),
      memoryBytes: limitOf(read('memory', 'memory.max')),
      memorySwapBytes: limitOf(read('memory', 'memory.swap.max')),
      memoryReservationBytes: numberOf(read('memory', 'memory.min')),
    };
  },
};

/**
 * Converts a weight to shares, the inverse of the conversion from shares to weights (upstream: cAdvisor's
 * convertCPUWeightToCPULimit).
 */
function sharesOf(weight: number): number {
  return weight === 0 ? 0 : MIN_SHARES + Math.floor(((weight - 1) * 262_142) / 9999);
}
