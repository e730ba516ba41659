/** Names of kernel parameters (upstream: component-helpers node/util/sysctl). */

/** The kernel namespace a parameter belongs to, as upstream prints it. */
export type SysctlNamespace = 'IPC' | 'Net';

export const MAX_SYSCTL_BYTES = 253;
export const SYSCTL_SEGMENT = '[a-z0-9]([-_a-z0-9]*[a-z0-9])?';

/** `kernel.shm` and `kernel.msg` are the fixed parts of the patterns `kernel.shm*` and `kernel.msg*`. */
const ipcNames = new Set([
  'kernel.sem',
  'kernel.shmall',
  'kernel.shmmax',
  'kernel.shmmni',
  'kernel.shm_rmid_forced',
  'kernel.shm',
  'kernel.msgmax',
  'kernel.msgmnb',
  'kernel.msgmni',
  'kernel.msg',
]);

/**
 * The form with dots, which runtimes use to find the namespace. If the first separator is a slash, dots are part of
 * names: `net/ipv4/conf/eno2.100/rp_filter`.
 */
export function dottedSysctl(name: string): string {
  if (/[./]/.exec(name)?.[0] !== '/') return name;
  return name.replace(/[./]/g, (separator) => (separator === '/' ? '.' : '/'));
}

/**
 * The namespace of a parameter in either form; undefined for a parameter that is not known to be namespaced and would
 * therefore change the host.
 */
export function sysctlNamespace(name: string): SysctlNamespace | undefined {
  const dotted = dottedSysctl(name);
  if (ipcNames.has(dotted) || dotted.startsWith('fs.mqueue.')) return 'IPC';
  return dotted.startsWith('net.') ? 'Net' : undefined;
}
