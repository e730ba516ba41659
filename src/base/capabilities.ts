/**
 * Whether a process may lower an oom_score_adj: CAP_SYS_RESOURCE, bit 24 of the effective set in /proc/PID/status.
 */
export function hasSysResource(procStatus: string): boolean {
  const match = /^CapEff:\s*([0-9a-f]+)$/m.exec(procStatus);
  return match?.[1] !== undefined && (BigInt(`0x${match[1]}`) & (1n << 24n)) !== 0n;
}
