/**
 * Rules for eviction, reservations and node allocatable (upstream: config validation, eviction/helpers.go,
 * cm/container_manager.go, app/server.go).
 */
import { parseCpuSet } from '../cpu-set.ts';
import { parseDurationMs } from '../../../api/duration.ts';
import { percentShare, quantityNumber } from './quantity-text.ts';
import { quoted } from './validate-context.ts';
import type { ValidationContext } from './validate-context.ts';

/** The signals that a threshold may name. */
const evictionSignals = [
  'memory.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'imagefs.available',
  'imagefs.inodesFree',
  'containerfs.available',
  'containerfs.inodesFree',
  'allocatableMemory.available',
  'pid.available',
] as const;

type SignalField = 'evictionHard' | 'evictionSoft' | 'evictionSoftGracePeriod' | 'evictionMinimumReclaim';

function wrongThreshold(signal: string, text: string): string | undefined {
  if (text.endsWith('%')) {
    const share = percentShare(text);
    if (share === undefined) return `${quoted(text)} is not a percentage`;
    if (share < 0) return `eviction percentage threshold ${signal} must be >= 0%: ${text}`;
    return share > 1 ? `eviction percentage threshold ${signal} must be <= 100%: ${text}` : undefined;
  }
  const value = quantityNumber(text);
  if (value === undefined) return `${quoted(text)} is not a quantity`;
  return value <= 0 ? `eviction threshold ${signal} must be positive: ${text}` : undefined;
}

function wrongGracePeriod(_signal: string, text: string): string | undefined {
  const ms = parseDurationMs(text);
  if (ms === undefined) return `${quoted(text)} is not a duration; accepted are texts such as 30s or 1m30s`;
  return ms < 0 ? `invalid eviction grace period specified: ${text}, must be a positive value` : undefined;
}

function wrongMinimumReclaim(signal: string, text: string): string | undefined {
  if (text.endsWith('%')) {
    const share = percentShare(text);
    if (share === undefined) return `${quoted(text)} is not a percentage`;
    return share <= 0 ? `eviction percentage minimum reclaim ${signal} must be positive: ${text}` : undefined;
  }
  const value = quantityNumber(text);
  if (value === undefined) return `${quoted(text)} is not a quantity`;
  return value < 0 ? `negative eviction minimum reclaim specified for ${signal}` : undefined;
}

const signalRules: Readonly<Record<SignalField, (signal: string, text: string) => string | undefined>> = {
  evictionHard: wrongThreshold,
  evictionSoft: wrongThreshold,
  evictionSoftGracePeriod: wrongGracePeriod,
  evictionMinimumReclaim: wrongMinimumReclaim,
};

function checkEviction({ config, fail }: ValidationContext): void {
  const known: readonly string[] = evictionSignals;
  for (const field of Object.keys(signalRules) as SignalField[]) {
    for (const [signal, text] of Object.entries(config[field] ?? {})) {
      const path = `${field}[${signal}]`;
      if (!known.includes(signal)) {
        fail(path, `${field}: unsupported eviction signal ${signal}; accepted are ${evictionSignals.join(', ')}`);
        continue;
      }
      const wrong = signalRules[field](signal, text);
      if (wrong !== undefined)
        fail(
          path,
          `${field}[${signal}]: ${wrong}; accepted are ${field === 'evictionSoftGracePeriod' ? 'durations' : 'quantities such as 100Mi and percentages such as 10%'}`,
        );
    }
  }
  for (const signal of Object.keys(config.evictionSoft ?? {})) {
    if (known.includes(signal) && config.evictionSoftGracePeriod?.[signal] === undefined) {
      fail(
        `evictionSoft[${signal}]`,
        `grace period must be specified for the soft eviction threshold ${signal}, in evictionSoftGracePeriod (--eviction-soft-grace-period)`,
      );
    }
  }
}

const reservable = ['cpu', 'memory', 'ephemeral-storage', 'pid'];

function checkReserved({ config, fail }: ValidationContext): void {
  for (const [field, flag] of [
    ['systemReserved', '--system-reserved'],
    ['kubeReserved', '--kube-reserved'],
  ] as const) {
    for (const [resource, text] of Object.entries(config[field] ?? {})) {
      const path = `${field}[${resource}]`;
      const value = quantityNumber(text);
      if (!reservable.includes(resource))
        fail(
          path,
          `${field} (${flag}): cannot reserve ${quoted(resource)} resource; accepted are ${reservable.join(', ')}`,
        );
      else if (value === undefined)
        fail(path, `${field} (${flag}): failed to parse quantity ${quoted(text)} for ${quoted(resource)} resource`);
      else if (value < 0)
        fail(path, `${field} (${flag}): resource quantity for ${quoted(resource)} cannot be negative: ${text}`);
    }
  }
  for (const [resource, text] of Object.entries(config.qosReserved ?? {})) {
    const share = percentShare(text);
    if (resource !== 'memory')
      fail(
        `qosReserved[${resource}]`,
        `qosReserved (--qos-reserved): only memory resource supported, got ${quoted(resource)}`,
      );
    else if (share === undefined || share < 0 || share > 1) {
      fail(
        `qosReserved[${resource}]`,
        `qosReserved (--qos-reserved): ${quoted(text)} must be a percentage between 0% and 100%`,
      );
    }
  }
  const { reservedSystemCPUs } = config;
  if (reservedSystemCPUs === undefined || reservedSystemCPUs === '') return;
  if (config.systemReservedCgroup || config.kubeReservedCgroup) {
    fail(
      'reservedSystemCPUs',
      "can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)",
    );
  }
  if (parseCpuSet(reservedSystemCPUs) === undefined) {
    fail(
      'reservedSystemCPUs',
      `unable to parse reservedSystemCPUs (--reserved-cpus) ${reservedSystemCPUs}; accepted are lists of CPUs and ranges such as 0-3,8`,
    );
  }
}

function checkReservedMemory({ config, fail }: ValidationContext): void {
  const seen = new Set<string>();
  for (const [index, { numaNode, limits }] of (config.reservedMemory ?? []).entries()) {
    for (const [resource, text] of Object.entries(limits)) {
      const path = `reservedMemory[${index}].limits[${resource}]`;
      const key = `${numaNode}/${resource}`;
      if (resource !== 'memory' && !resource.startsWith('hugepages-')) {
        fail(
          path,
          `the limit type ${quoted(resource)} for NUMA node ${numaNode} is not supported, only [memory hugepages-<HugePageSize>] is accepted`,
        );
      }
      if (quantityNumber(text) === 0)
        fail(path, `reserved memory may not be zero for NUMA node ${numaNode} and resource ${quoted(resource)}`);
      if (seen.has(key))
        fail(
          path,
          `the reserved memory has a duplicate value for NUMA node ${numaNode} and resource ${quoted(resource)}`,
        );
      seen.add(key);
    }
  }
}

const ENFORCE_NAME = 'enforceNodeAllocatable (--enforce-node-allocatable)';
const enforceable = [
  'pods',
  'system-reserved',
  'system-reserved-compressible',
  'kube-reserved',
  'kube-reserved-compressible',
  'none',
] as const;

function checkEnforcement(context: ValidationContext, value: string, path: string): void {
  const { config, fail } = context;
  if (value === 'none') {
    if (config.enforceNodeAllocatable.length > 1)
      fail(path, `${ENFORCE_NAME} may not contain additional enforcements when "none" is specified`);
    return;
  }
  if (!(enforceable as readonly string[]).includes(value)) {
    const names = [
      'pods',
      'system-reserved',
      'kube-reserved',
      'system-reserved-compressible',
      'kube-reserved-compressible',
    ]
      .map(quoted)
      .join(', ');
    fail(path, `option ${quoted(value)} specified for ${ENFORCE_NAME}. Valid options are ${names} or "none"`);
    return;
  }
  for (const [owner, cgroup] of [
    ['system', config.systemReservedCgroup],
    ['kube', config.kubeReservedCgroup],
  ] as const) {
    if (!value.startsWith(`${owner}-`) || cgroup) continue;
    fail(
      path,
      `${owner}ReservedCgroup (--${owner}-reserved-cgroup) must be specified when "${owner}-reserved" or "${owner}-reserved-compressible" included in ${ENFORCE_NAME}`,
    );
  }
  if (!config.cgroupsPerQOS)
    fail(
      path,
      `cgroupsPerQOS (--cgroups-per-qos) must be set to true when ${quoted(value)} contained in ${ENFORCE_NAME}`,
    );
}

function checkNodeAllocatable(context: ValidationContext): void {
  const { config, fail } = context;
  const values = config.enforceNodeAllocatable;
  for (const owner of ['system', 'kube']) {
    if (values.includes(`${owner}-reserved`) && values.includes(`${owner}-reserved-compressible`)) {
      fail(
        'enforceNodeAllocatable',
        `both "${owner}-reserved" and "${owner}-reserved-compressible" cannot be specified together in ${ENFORCE_NAME}`,
      );
    }
  }
  for (const [index, value] of values.entries()) {
    const path = `enforceNodeAllocatable[${index}]`;
    if (values.indexOf(value) < index) fail(path, `duplicated enforcements ${quoted(value)} in ${ENFORCE_NAME}`);
    else checkEnforcement(context, value, path);
  }
}

export function checkResources(context: ValidationContext): void {
  const { config, fail } = context;
  if (config.systemCgroups && !config.cgroupRoot) {
    fail(
      'systemCgroups',
      'systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified',
    );
  }
  checkNodeAllocatable(context);
  checkEviction(context);
  checkReserved(context);
  checkReservedMemory(context);
  const logSize = quantityNumber(config.containerLogMaxSize);
  if (logSize === undefined || logSize < 0) {
    fail(
      'containerLogMaxSize',
      `containerLogMaxSize (--container-log-max-size) ${quoted(config.containerLogMaxSize)} must be a quantity such as 10Mi`,
    );
  }
}
