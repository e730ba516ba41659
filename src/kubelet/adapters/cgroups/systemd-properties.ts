import { lookupTable } from '../../../base/lookup.ts';
import type { CgroupLimits } from '../../ports/cgroups.ts';
import { cpuWeightOfShares } from './cpu-weight.ts';

/** A property of a unit as sent over D-Bus: boolean, 64-bit number or list of names. */
export type UnitProperty = { name: string } & (
  | { type: 'b'; value: boolean }
  | { type: 't'; value: bigint }
  | { type: 's'; value: string }
  | { type: 'as'; value: readonly string[] }
);

const INFINITY = 2n ** 64n - 1n;
const DEFAULT_PERIOD_US = 100_000;
/** systemd stores quotas in whole percents of a processor. */
const QUOTA_STEP_US = 10_000;
const SECOND_US = 1_000_000;
/** Earlier versions have no property for the period of a quota, so it is only written to the control file. */
const PERIOD_SINCE_VERSION = 242;

const MEMORY_FILES: Readonly<Record<string, string>> = lookupTable({
  'memory.min': 'MemoryMin',
  'memory.low': 'MemoryLow',
  'memory.high': 'MemoryHigh',
  'memory.max': 'MemoryMax',
  'memory.swap.max': 'MemorySwapMax',
});

/**
 * Rounds limits as systemd does: a quota that is not a whole percent is rounded up, so that the containers' own quotas
 * fit into it. The same value must be written to the control files, because otherwise the next `systemctl
 * daemon-reload` would change them.
 */
export function asSystemdKeeps(limits: CgroupLimits): CgroupLimits {
  const { cpuQuotaUs, cpuPeriodUs = DEFAULT_PERIOD_US, pidsMax } = limits;
  const quota =
    cpuQuotaUs === undefined || cpuQuotaUs <= 0
      ? {}
      : { cpuQuotaUs: Math.floor((perSecondUs(cpuQuotaUs, cpuPeriodUs) * cpuPeriodUs) / SECOND_US) };
  return { ...limits, ...quota, ...(pidsMax === 0 ? { pidsMax: 1 } : {}) };
}

/**
 * Returns the properties for these limits. Limits without a systemd property (huge pages, most of `unified`) are only
 * written to the control files.
 */
export function limitProperties(
  limits: CgroupLimits,
  on: { cgroupVersion: 1 | 2; systemdVersion: number },
): UnitProperty[] {
  const properties: UnitProperty[] = [];
  const add = (name: string, value: bigint): void => void properties.push({ name, type: 't', value });
  const { cpuShares, cpuQuotaUs = 0, cpuPeriodUs = 0, memoryBytes = 0, pidsMax } = limits;
  // Upstream uses 0 for "not set".
  if (memoryBytes !== 0) add(on.cgroupVersion === 2 ? 'MemoryMax' : 'MemoryLimit', unlimitedOr(memoryBytes));
  if (cpuShares !== undefined) {
    if (on.cgroupVersion === 2) add('CPUWeight', BigInt(cpuWeightOfShares(cpuShares)));
    else add('CPUShares', BigInt(cpuShares));
  }
  if (cpuPeriodUs !== 0 && on.systemdVersion >= PERIOD_SINCE_VERSION) add('CPUQuotaPeriodUSec', BigInt(cpuPeriodUs));
  if (cpuQuotaUs !== 0)
    add(
      'CPUQuotaPerSecUSec',
      cpuQuotaUs < 0 ? INFINITY : BigInt(perSecondUs(cpuQuotaUs, cpuPeriodUs === 0 ? DEFAULT_PERIOD_US : cpuPeriodUs)),
    );
  // systemd does not accept a limit of zero tasks.
  if (pidsMax !== undefined) add('TasksMax', unlimitedOr(pidsMax === 0 ? 1 : pidsMax));
  if (on.cgroupVersion === 2) {
    for (const [file, text] of Object.entries(limits.unified ?? {})) {
      const name = MEMORY_FILES[file];
      if (name !== undefined) add(name, text.trim() === 'max' ? INFINITY : BigInt(text.trim()));
    }
  }
  return properties;
}

/** Returns the properties of every slice. All accounting is on, so that systemd enables the controllers for it. */
export function sliceProperties(parent: string, cgroupVersion: 1 | 2): UnitProperty[] {
  const accounting = [
    'MemoryAccounting',
    'CPUAccounting',
    'TasksAccounting',
    cgroupVersion === 2 ? 'IOAccounting' : 'BlockIOAccounting',
  ];
  return [
    { name: 'Description', type: 's', value: 'Kubernetes pods (kubelet-ts)' },
    { name: 'Wants', type: 'as', value: [parent] },
    ...accounting.map((name): UnitProperty => ({ name, type: 'b', value: true })),
    { name: 'DefaultDependencies', type: 'b', value: false },
  ];
}

/**
 * Parses the major version of `252.39-1~deb12u2`, `v245` or `"249"`. Returns 0 for an invalid text, so that only
 * properties of all versions are used.
 */
export function systemdMajorVersion(text: string): number {
  return Number(/\d+/.exec(text)?.[0] ?? 0);
}

function perSecondUs(quotaUs: number, periodUs: number): number {
  return Math.ceil(Math.floor((quotaUs * SECOND_US) / periodUs) / QUOTA_STEP_US) * QUOTA_STEP_US;
}

function unlimitedOr(value: number): bigint {
  return value < 0 ? INFINITY : BigInt(value);
}
