import type { Pod } from '../../../api/core/pod.ts';
import { isRestartableInit } from '../../../api/pod.ts';

interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

const ANY = '0.0.0.0';

/** Returns the host ports of the pod's regular containers and sidecars (upstream: scheduler/util GetHostPorts). */
function hostPortsOf(pod: Pod): HostPort[] {
  const containers = [...(pod.spec.initContainers ?? []).filter(isRestartableInit), ...pod.spec.containers];
  return containers.flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort = 0, hostIP, protocol }) =>
      hostPort > 0
        ? [{ ip: hostIP === undefined || hostIP === '' ? ANY : hostIP, protocol: protocol ?? 'TCP', port: hostPort }]
        : [],
    ),
  );
}

/**
 * Whether another pod uses a host port of this pod: the same number and protocol on the same address or on all
 * addresses.
 */
export function hasPortConflict(pod: Pod, others: readonly Pod[]): boolean {
  const wanted = hostPortsOf(pod);
  if (wanted.length === 0) return false;
  const taken = others.flatMap(hostPortsOf);
  return wanted.some((want) =>
    taken.some(
      (have) =>
        want.port === have.port &&
        want.protocol === have.protocol &&
        (want.ip === have.ip || want.ip === ANY || have.ip === ANY),
    ),
  );
}
