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

/** Absent is TCP; undefined for what the API does not have. */
export const protocolOf = (name = 'TCP'): PolicyProtocol | undefined => protocols.get(name);

export const isPortNumber = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65_535;

export interface NamedPort {
  readonly name: string;
  readonly protocol: PolicyProtocol;
  readonly port: number;
}

/** What network policies concern of a pod. */
export interface PolicyPod {
  /** `namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  readonly labels: Labels;
  readonly node: string;
  /** Canonical. None: no policy selects it, as an end or as a peer. */
  readonly addresses: readonly string[];
  readonly ports: readonly NamedPort[];
  /** Of two pods that show one address, the address is the later one's. */
  readonly since: string;
}

/**
 * Pods with the host's network have no addresses of their own, and ended ones none any more (upstream: NetworkPolicy
 * does not apply to pods of the host's network). Addresses of loopback or the link belong to no pod.
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
