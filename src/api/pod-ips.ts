import type { Pod } from './core/pod.ts';
import { isHostNetwork } from './pod.ts';

const isV6 = (ip: string): boolean => ip.includes(':');

/**
 * The addresses in a pod's status: at most one of each family, starting with the family of the node's first address
 * (upstream: sortPodIPs).
 */
export function orderPodIps(ips: readonly string[], nodeIps: readonly string[]): readonly string[] {
  if (ips.length === 1) return ips;
  const primaryV6 = isV6(nodeIps[0] ?? '');
  return [ips.find((ip) => isV6(ip) === primaryV6), ips.find((ip) => isV6(ip) !== primaryV6)].filter(
    (ip) => ip !== undefined,
  );
}

/** The addresses of the pod: on the host's network, those of the host. */
export function podAddresses(pod: Pod, sandboxIps: readonly string[], nodeIps: readonly string[]): readonly string[] {
  return isHostNetwork(pod) ? nodeIps : orderPodIps(sandboxIps, nodeIps);
}
