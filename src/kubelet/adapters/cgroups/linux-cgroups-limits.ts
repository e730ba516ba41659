import type { CgroupLimits, CgroupValues } from '../../ports/cgroups.ts';
import { cpuSharesOfWeight, cpuWeightOfShares } from './cpu-weight.ts';

/** One value for one control file. `controller` determines the hierarchy on v1. */
export interface ControlWrite {
  readonly controller: string;
  readonly file: string;
  readonly value: string;
  /** Whether the file may be missing on this kernel. */
  readonly optional?: boolean;
}

const unlimitedOr = (value: number): string => (value < 0 ? 'max' : String(value));

/** Returns the writes in the required order: the period before the quota that depends on it. */
export function v1Writes(limits: CgroupLimits): ControlWrite[] {
  const writes: ControlWrite[] = [];
  const add = (
    controller: string,
    file: string,
    value: number | undefined,
    text: (value: number) => string = String,
  ): void => {
    if (value !== undefined) writes.push({ controller, file, value: text(value) });
  };
  add('cpu', 'cpu.shares', limits.cpuShares);
  // The file is missing if the kernel has no CFS bandwidth control; then no quota applies either.
  if (limits.cpuPeriodUs !== undefined)
    writes.push({
      controller: 'cpu',
      file: 'cpu.cfs_period_us',
      value: String(limits.cpuPeriodUs),
      optional: (limits.cpuQuotaUs ?? -1) <= 0,
    });
  if (limits.cpuQuotaUs !== undefined && limits.cpuQuotaUs !== 0)
    writes.push({
      controller: 'cpu',
      file: 'cpu.cfs_quota_us',
      value: String(limits.cpuQuotaUs),
      optional: limits.cpuQuotaUs < 0,
    });
  // For these two, upstream uses 0 for "not set".
  add('memory', 'memory.limit_in_bytes', limits.memoryBytes === 0 ? undefined : limits.memoryBytes);
  add('pids', 'pids.max', limits.pidsMax, unlimitedOr);
  for (const [size, bytes] of Object.entries(limits.hugetlbBytes ?? {})) {
    writes.push({
      controller: 'hugetlb',
      file: `hugetlb.${size}.limit_in_bytes`,
      value: String(bytes),
      optional: true,
    });
  }
  return writes;
}

export function v2Writes(limits: CgroupLimits): ControlWrite[] {
  const writes: ControlWrite[] = [];
  if (limits.cpuShares !== undefined)
    writes.push({ controller: 'cpu', file: 'cpu.weight', value: String(cpuWeightOfShares(limits.cpuShares)) });
  if (limits.cpuQuotaUs !== undefined && limits.cpuQuotaUs !== 0) {
    const period = limits.cpuPeriodUs === undefined ? '' : ` ${limits.cpuPeriodUs}`;
    writes.push({
      controller: 'cpu',
      file: 'cpu.max',
      value: `${unlimitedOr(limits.cpuQuotaUs)}${period}`,
      optional: limits.cpuQuotaUs < 0,
    });
  }
  if (limits.memoryBytes !== undefined && limits.memoryBytes !== 0)
    writes.push({ controller: 'memory', file: 'memory.max', value: unlimitedOr(limits.memoryBytes) });
  if (limits.pidsMax !== undefined)
    writes.push({ controller: 'pids', file: 'pids.max', value: unlimitedOr(limits.pidsMax) });
  for (const [size, bytes] of Object.entries(limits.hugetlbBytes ?? {})) {
    writes.push({ controller: 'hugetlb', file: `hugetlb.${size}.max`, value: String(bytes), optional: true });
  }
  for (const [file, value] of Object.entries(limits.unified ?? {}))
    writes.push({ controller: file.split('.')[0] ?? '', file, value });
  return writes;
}

/** Reads one control file; undefined if this machine does not have it. */
type ReadControl = (controller: string, file: string) => Promise<string | undefined>;

/** On v1 the kernel's value for "no limit" is the largest multiple of a page. */
const UNLIMITED_BYTES = 2 ** 62;
const DEFAULT_SHARES = 1024;
const DEFAULT_PERIOD_US = 100_000;

export async function valuesFromV1(read: ReadControl): Promise<CgroupValues> {
  const number = async (controller: string, file: string, otherwise: number): Promise<number> =>
    Number((await read(controller, file)) ?? otherwise);
  const [cpuShares, cpuQuotaUs, cpuPeriodUs, memoryBytes, memoryUsageBytes] = await Promise.all([
    number('cpu', 'cpu.shares', DEFAULT_SHARES),
    number('cpu', 'cpu.cfs_quota_us', -1),
    number('cpu', 'cpu.cfs_period_us', DEFAULT_PERIOD_US),
    number('memory', 'memory.limit_in_bytes', UNLIMITED_BYTES),
    number('memory', 'memory.usage_in_bytes', 0),
  ]);
  return {
    cpuShares,
    cpuQuotaUs,
    cpuPeriodUs,
    memoryBytes: memoryBytes >= UNLIMITED_BYTES ? -1 : memoryBytes,
    memoryUsageBytes,
  };
}

export async function valuesFromV2(read: ReadControl): Promise<CgroupValues> {
  const [weight, max, memoryMax, memoryUsed] = await Promise.all([
    read('cpu', 'cpu.weight'),
    read('cpu', 'cpu.max'),
    read('memory', 'memory.max'),
    read('memory', 'memory.current'),
  ]);
  const [quota = 'max', period = String(DEFAULT_PERIOD_US)] = (max ?? '').split(' ').filter((part) => part !== '');
  return {
    cpuShares: weight === undefined ? DEFAULT_SHARES : cpuSharesOfWeight(Number(weight)),
    cpuQuotaUs: quota === 'max' ? -1 : Number(quota),
    cpuPeriodUs: Number(period),
    memoryBytes: memoryMax === undefined || memoryMax === 'max' ? -1 : Number(memoryMax),
    memoryUsageBytes: Number(memoryUsed ?? 0),
  };
}
