import type { Pod } from './core/pod.ts';
import { isHostNetwork } from './pod.ts';

const isV6 = (ip: string): boolean => ip.includes(':');

/**
 * The addresses of a pod as it shows them: at most one of each family, the family of the node's first address first
 * (upstream: sortPodIPs).
 */
export function orderPodIps(ips: readonly string[], nodeIps: readonly string[]): readonly string[] {
  if (ips.length === 1) return ips;
  const primaryV6 = isV6(nodeIps[0] ?? '');
  return [ips.find((ip) => isV6(ip) === primaryV6), ips.find((ip) => isV6(ip) !== primaryV6)].filter(
    (ip) => ip !== undefined,
  );
}

/** The addresses a pod sees as its own: on the host's network those of the host. */
export function podAddresses(pod: Pod, sandboxIps: readonly string[], nodeIps: readonly string[]): readonly string[] {
  return isHostNetwork(pod) ? nodeIps : orderPodIps(sandboxIps, nodeIps);
}
