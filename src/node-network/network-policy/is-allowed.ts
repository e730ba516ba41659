/**
 * Implements network policies as the API documents them, as simply as possible and without regard to cost. Tests
 * compare the compiled rules with this model.
 */
import type { NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort } from '../../api/networking/network-policy.ts';
import type { Labels } from '../../api/label-requirement.ts';
import { matchesLabelSelector } from '../../api/selectors.ts';
import { containsPrefix, parseIpPrefix } from '../../base/ip-prefix.ts';
import type { PolicyPod, PolicyProtocol } from './policy-pod.ts';
import { protocolOf } from './policy-pod.ts';

export interface PolicyCluster {
  readonly policies: readonly NetworkPolicy[];
  readonly pods: readonly PolicyPod[];
  /** The labels by name of the namespace. */
  readonly namespaces: ReadonlyMap<string, Labels>;
  /** The addresses by name of the node. */
  readonly nodeAddresses: ReadonlyMap<string, readonly string[]>;
}

/** The addresses of both ends as the pods see them: after a service address was translated and before source NAT. */
export interface Connection {
  readonly from: string;
  readonly to: string;
  readonly protocol: PolicyProtocol;
  /** The port of the destination. */
  readonly port: number;
}

export type Direction = 'Ingress' | 'Egress';

/**
 * Whether a connection is allowed, which the policies of both ends must do. Connections between a pod and its own node,
 * and of a pod with itself, are always allowed
 * (https://kubernetes.io/docs/concepts/services-networking/network-policies).
 */
export function isAllowed(cluster: PolicyCluster, connection: Connection): boolean {
  const [source, destination] = [podAt(cluster, connection.from), podAt(cluster, connection.to)];
  if (connection.from === connection.to) return true;
  const isNodeOf = (pod: PolicyPod | undefined, address: string): boolean =>
    pod !== undefined && (cluster.nodeAddresses.get(pod.node) ?? []).includes(address);
  if (isNodeOf(source, connection.to) || isNodeOf(destination, connection.from)) return true;
  return isAllowedBy(cluster, source, connection, 'Egress') && isAllowedBy(cluster, destination, connection, 'Ingress');
}

const podAt = ({ pods }: PolicyCluster, address: string): PolicyPod | undefined =>
  pods.find(({ addresses }) => addresses.includes(address));

/**
 * Whether the policies of one direction allow the connection. A pod that none of them selects allows everything.
 * Otherwise it allows what any of its policies allows.
 */
function isAllowedBy(
  cluster: PolicyCluster,
  pod: PolicyPod | undefined,
  connection: Connection,
  direction: Direction,
): boolean {
  if (pod === undefined) return true;
  const selecting = cluster.policies.filter(
    (policy) =>
      policy.metadata.namespace === pod.namespace &&
      directionsOf(policy).includes(direction) &&
      matchesLabelSelector(policy.spec.podSelector, pod.labels),
  );
  return selecting.length === 0 || selecting.some((policy) => allows(cluster, policy, connection, direction));
}

/**
 * Returns the directions of a policy. Without `policyTypes` they are Ingress, and Egress if it has such a rule
 * (upstream: SetDefaults_NetworkPolicy).
 */
export function directionsOf({ spec }: NetworkPolicy): readonly Direction[] {
  if (spec.policyTypes !== undefined && spec.policyTypes.length > 0) return spec.policyTypes;
  return (spec.egress ?? []).length > 0 ? ['Ingress', 'Egress'] : ['Ingress'];
}

function allows(cluster: PolicyCluster, policy: NetworkPolicy, connection: Connection, direction: Direction): boolean {
  const { spec, metadata } = policy;
  const rules =
    direction === 'Ingress'
      ? (spec.ingress ?? []).map(({ from = [], ports = [] }) => ({ peers: from, ports }))
      : (spec.egress ?? []).map(({ to = [], ports = [] }) => ({ peers: to, ports }));
  const other = direction === 'Ingress' ? connection.from : connection.to;
  return rules.some(
    ({ peers, ports }) =>
      (peers.length === 0 || peers.some((peer) => isPeer(cluster, metadata.namespace, peer, other))) &&
      (ports.length === 0 || ports.some((port) => isPort(cluster, port, connection))),
  );
}

function isPeer(cluster: PolicyCluster, namespace: string, peer: NetworkPolicyPeer, address: string): boolean {
  if (peer.ipBlock !== undefined) {
    const { cidr, except = [] } = peer.ipBlock;
    return isIn(address, cidr) && !except.some((each) => isIn(address, each));
  }
  const pod = podAt(cluster, address);
  if (pod === undefined || (peer.podSelector === undefined && peer.namespaceSelector === undefined)) return false;
  const isNamespace =
    peer.namespaceSelector === undefined
      ? pod.namespace === namespace
      : matchesLabelSelector(peer.namespaceSelector, cluster.namespaces.get(pod.namespace) ?? {});
  return isNamespace && (peer.podSelector === undefined || matchesLabelSelector(peer.podSelector, pod.labels));
}

function isIn(address: string, cidr: string): boolean {
  const [outer, inner] = [parseIpPrefix(cidr), parseIpPrefix(`${address}/${address.includes(':') ? 128 : 32}`)];
  return outer !== undefined && inner !== undefined && containsPrefix(outer, inner);
}

/** Whether the port matches. A port name is resolved in the pod at the destination, for both directions. */
function isPort(
  cluster: PolicyCluster,
  { protocol, port, endPort }: NetworkPolicyPort,
  connection: Connection,
): boolean {
  if (protocolOf(protocol) !== connection.protocol) return false;
  if (port === undefined) return true;
  if (typeof port === 'number') return connection.port >= port && connection.port <= (endPort ?? port);
  return (podAt(cluster, connection.to)?.ports ?? []).some(
    (named) => named.name === port && named.protocol === connection.protocol && named.port === connection.port,
  );
}
