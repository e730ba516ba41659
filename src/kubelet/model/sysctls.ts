/** Which sysctls a pod may set on this node (upstream: pkg/kubelet/sysctl). */
import type { Pod } from '../../api/core/pod.ts';
import { dottedSysctl, MAX_SYSCTL_BYTES, sysctlNamespace, SYSCTL_SEGMENT } from '../../api/sysctl-name.ts';
import type { SysctlNamespace } from '../../api/sysctl-name.ts';
import { podReasons } from '../../api/reasons.ts';
import type { Refusal } from './security-checks.ts';

/**
 * Sysctls that are namespaced in the pod and do not affect other pods. `since` is the kernel version that namespaced
 * them.
 */
const safeSysctls: readonly { name: string; since?: string }[] = [
  { name: 'kernel.shm_rmid_forced' },
  { name: 'net.ipv4.ip_local_port_range' },
  { name: 'net.ipv4.tcp_syncookies' },
  { name: 'net.ipv4.ping_group_range' },
  { name: 'net.ipv4.ip_unprivileged_port_start' },
  { name: 'net.ipv4.ip_local_reserved_ports', since: '3.16' },
  { name: 'net.ipv4.tcp_keepalive_time', since: '4.5' },
  { name: 'net.ipv4.tcp_fin_timeout', since: '4.6' },
  { name: 'net.ipv4.tcp_keepalive_intvl', since: '4.5' },
  { name: 'net.ipv4.tcp_keepalive_probes', since: '4.5' },
  { name: 'net.ipv4.tcp_rmem', since: '4.15' },
  { name: 'net.ipv4.tcp_wmem', since: '4.15' },
];

const PATTERN_FORMAT = `(${SYSCTL_SEGMENT}[\\./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]`;
const pattern = new RegExp(`^${PATTERN_FORMAT}$`);

/** Names in the dotted form. A prefix ends at its star. */
export interface SysctlAllowList {
  readonly names: ReadonlyMap<string, SysctlNamespace>;
  readonly prefixes: ReadonlyMap<string, SysctlNamespace>;
}

/** Returns the problem of one entry of `allowedUnsafeSysctls`, or undefined if it is valid. */
export function sysctlPatternProblem(entry: string): string | undefined {
  if (Buffer.byteLength(entry) > MAX_SYSCTL_BYTES || !pattern.test(entry))
    return `sysctl ${JSON.stringify(entry)} must have at most ${MAX_SYSCTL_BYTES} characters and match regex ${PATTERN_FORMAT}`;
  const { stem } = splitPattern(entry);
  return sysctlNamespace(stem) === undefined
    ? `the sysctls ${JSON.stringify(stem)} are not known to be namespaced`
    : undefined;
}

function splitPattern(entry: string): { stem: string; prefixed: boolean } {
  const dotted = dottedSysctl(entry);
  const star = dotted.indexOf('*');
  return star === -1 ? { stem: dotted, prefixed: false } : { stem: dotted.slice(0, star), prefixed: true };
}

/**
 * Returns the safe sysctls of this kernel, and those that the operator allows. Invalid entries are ignored, so that
 * they allow nothing.
 */
export function sysctlAllowList(allowedUnsafe: readonly string[], kernelVersion: string): SysctlAllowList {
  const names = new Map<string, SysctlNamespace>();
  const prefixes = new Map<string, SysctlNamespace>();
  const safe = safeSysctls
    .filter(({ since }) => since === undefined || isAtLeast(kernelVersion, since))
    .map(({ name }) => name);
  for (const entry of [...safe, ...allowedUnsafe]) {
    const { stem, prefixed } = splitPattern(entry);
    const namespace = sysctlNamespace(stem);
    if (namespace !== undefined && sysctlPatternProblem(entry) === undefined)
      (prefixed ? prefixes : names).set(stem, namespace);
  }
  return { names, prefixes };
}

/** Compares versions such as `6.1.0-13-amd64` and `4.15`. An invalid version counts as too old. */
function isAtLeast(kernelVersion: string, since: string): boolean {
  const own = /^(\d+)\.(\d+)/.exec(kernelVersion);
  if (own === null) return false;
  const [major = 0, minor = 0] = since.split('.').map(Number);
  return Number(own[1]) > major || (Number(own[1]) === major && Number(own[2]) >= minor);
}

/**
 * Returns why the pod may not run here, because of the first sysctl that is not allowed; undefined if all are allowed.
 */
export function checkSysctls(pod: Pod, allowed: SysctlAllowList): Refusal | undefined {
  for (const { name } of pod.spec.securityContext?.sysctls ?? []) {
    const problem = sysctlProblem(dottedSysctl(name), pod, allowed);
    if (problem !== undefined) return { reason: podReasons.sysctlForbidden, message: `forbidden sysctl: ${problem}` };
  }
  return undefined;
}

function sysctlProblem(dotted: string, pod: Pod, allowed: SysctlAllowList): string | undefined {
  const namespace =
    allowed.names.get(dotted) ?? [...allowed.prefixes].find(([prefix]) => dotted.startsWith(prefix))?.[1];
  if (namespace === undefined) return `${JSON.stringify(dotted)} not allowlisted`;
  const shared = namespace === 'IPC' ? pod.spec.hostIPC === true : pod.spec.hostNetwork === true;
  return shared ? `${JSON.stringify(dotted)} not allowed with host ${namespace} enabled` : undefined;
}
