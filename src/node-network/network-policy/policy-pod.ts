import type { Pod } from '../../api/core/pod.ts';
import { isHostNetwork, isRestartableInit, isTerminalPod } from '../../api/pod.ts';
import type { Labels } from '../../api/label-requirement.ts';
import { addressScope, canonicalIp, parseIp } from '../../base/ip-address.ts';

export type PolicyProtocol = 'tcp' | 'udp' | 'sctp';

const protocols: ReadonlyMap<string, PolicyProtocol> = new Map([
  ['TCP', 'tcp'],
  ['UDP', 'udp'],
  ['SCTP', 'sctp'],
]);

/** Returns the protocol. A missing one means TCP; undefined for a protocol that the API does not know. */
export const protocolOf = (name = 'TCP'): PolicyProtocol | undefined => protocols.get(name);

export const isPortNumber = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65_535;

export interface NamedPort {
  readonly name: string;
  readonly protocol: PolicyProtocol;
  readonly port: number;
}

/** The parts of a pod that network policies depend on. */
export interface PolicyPod {
  /** `namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  readonly labels: Labels;
  readonly node: string;
  /** The addresses in canonical form. Without addresses, the pod matches no policy. */
  readonly addresses: readonly string[];
  readonly ports: readonly NamedPort[];
  /** The creation time. If two pods have the same address, it belongs to the younger one. */
  readonly since: string;
}

/**
 * Converts a pod. Pods with the host's network have no addresses of their own, and ended pods have lost theirs
 * (upstream: NetworkPolicy does not apply to pods of the host's network). Loopback and link-local addresses belong to
 * no pod.
 */
export function policyPodOf(pod: Pod): PolicyPod {
  const { metadata, spec, status } = pod;
  const shown = [...(status?.podIPs ?? []).map(({ ip }) => ip), status?.podIP];
  const canonical = shown.flatMap((ip) => (ip === undefined || ip === '' ? [] : (canonicalIp(ip) ?? [])));
  const own = canonical.filter((ip) => addressScope(parseIp(ip) ?? new Uint8Array(4)) === 'other');
  const containers = [...spec.containers, ...(spec.initContainers ?? []).filter(isRestartableInit)];
  return {
    key: `${metadata.namespace}/${metadata.name}`,
    namespace: metadata.namespace,
    labels: metadata.labels ?? {},
    node: spec.nodeName ?? '',
    addresses: isHostNetwork(pod) || isTerminalPod(pod) ? [] : [...new Set(own)],
    ports: containers.flatMap(({ ports = [] }) =>
      ports.flatMap(({ name, containerPort, protocol: named }) => {
        const protocol = protocolOf(named);
        return name === undefined || protocol === undefined || !isPortNumber(containerPort)
          ? []
          : [{ name, protocol, port: containerPort }];
      }),
    ),
    since: `${metadata.creationTimestamp ?? ''} ${metadata.uid}`,
  };
}
