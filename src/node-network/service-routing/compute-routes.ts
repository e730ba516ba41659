import type { Service, ServicePort } from '../../api/core/service.ts';
import type { EndpointSlice } from '../../api/discovery/endpoint-slice.ts';
import { isIpv4, isIpv4Range } from './ipv4-range.ts';
import type { NodeLoadBalancer } from './node-load-balancer.ts';
import { assignNodeAddress } from './node-load-balancer.ts';
import type { Backend } from './select-backends.ts';
import { isPort, selectBackends } from './select-backends.ts';

export type RouteProtocol = 'tcp' | 'udp' | 'sctp';

/** One port of one service and the endpoints that receive its traffic. */
export interface ServiceRoute {
  /** `namespace/name:port`, for comments of rules. */
  readonly name: string;
  readonly protocol: RouteProtocol;
  readonly clusterIp: string;
  readonly port: number;
  readonly nodePort: number | undefined;
  /** externalIPs, and the addresses of a load balancer that leaves the work to the nodes. */
  readonly externalIps: readonly ExternalAddress[];
  /** How long a client keeps its endpoint (session affinity), in seconds; absent: no affinity. */
  readonly affinitySeconds: number | undefined;
  readonly all: readonly Backend[];
  readonly local: readonly Backend[];
  /** Traffic from inside the cluster stays on its node (internalTrafficPolicy: Local). */
  readonly internalLocal: boolean;
  /** Traffic from outside stays on its node and keeps its source address (externalTrafficPolicy: Local). */
  readonly externalLocal: boolean;
}

export interface ExternalAddress {
  readonly ip: string;
  /** Absent: from everywhere. */
  readonly sourceRanges?: readonly string[];
  /** The node's own address, which the load balancer of the node gave to the service. */
  readonly isNodes?: true;
}

const protocols: ReadonlyMap<string, RouteProtocol> = new Map([
  ['TCP', 'tcp'],
  ['UDP', 'udp'],
  ['SCTP', 'sctp'],
]);
/** Upstream's, three hours; and the longest that the API takes, a day. */
const AFFINITY_SECONDS = 10_800;
const MAX_AFFINITY_SECONDS = 86_400;
/**
 * Of a namespace, a service and a port: together they fit into a comment of iptables, of which one too long would spoil
 * all rules.
 */
const MAX_NAME_LENGTH = 63;

/**
 * Every port of every service with an IPv4 address of its own. Headless services and those that are only names have
 * none; who asks for another proxy (`service.kubernetes.io/service-proxy-name`) gets none of us. Sorted, so that the
 * same services give the same routes in whatever order they came.
 */
export function computeRoutes(
  services: readonly Service[],
  slicesOf: (service: Service) => readonly EndpointSlice[],
  { nodeName, balancer }: { readonly nodeName: string; readonly balancer?: NodeLoadBalancer | undefined },
): ServiceRoute[] {
  const assigned = balancer === undefined ? undefined : assignNodeAddress(services, balancer);
  // What the status says of the node's address does not count: others may write there.
  const nodeAddressOf = ({ metadata }: Service): string | undefined => {
    const key = `${metadata.namespace}/${metadata.name}`;
    return assigned?.has(key) === true && assigned.get(key) === undefined ? balancer?.address : undefined;
  };
  return services
    .filter(isRouted)
    .flatMap((service) => {
      const slices = slicesOf(service);
      return (service.spec.ports ?? []).flatMap(
        (port) => routeOf(service, port, { slices, nodeName, nodeAddress: nodeAddressOf(service) }) ?? [],
      );
    })
    .sort((left, right) => compare(left.name, right.name) || compare(left.protocol, right.protocol));
}

const compare = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0);
const isName = (text: string): boolean =>
  text.length <= MAX_NAME_LENGTH && /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(text);

function isRouted({ metadata, spec }: Service): boolean {
  if (spec.type === 'ExternalName' || metadata.labels?.['service.kubernetes.io/service-proxy-name'] !== undefined)
    return false;
  return clusterIpOf(spec) !== undefined && isName(metadata.namespace) && isName(metadata.name);
}

function clusterIpOf(spec: Service['spec']): string | undefined {
  return (spec.clusterIPs ?? [spec.clusterIP ?? '']).find(isIpv4);
}

function routeOf(
  service: Service,
  servicePort: ServicePort,
  {
    slices,
    nodeName,
    nodeAddress,
  }: { readonly slices: readonly EndpointSlice[]; readonly nodeName: string; readonly nodeAddress: string | undefined },
): ServiceRoute | undefined {
  const { metadata, spec } = service;
  const { name: portName = '', port, nodePort } = servicePort;
  const protocol = protocols.get(servicePort.protocol ?? 'TCP');
  const clusterIp = clusterIpOf(spec);
  if (protocol === undefined || clusterIp === undefined || !isPort(port) || (portName !== '' && !isName(portName)))
    return undefined;
  const reachedFromOutside =
    spec.type === 'NodePort' || spec.type === 'LoadBalancer' || (spec.externalIPs ?? []).length > 0;
  return {
    name: `${metadata.namespace}/${metadata.name}:${portName === '' ? port : portName}`,
    protocol,
    clusterIp,
    port,
    nodePort: spec.type === 'ClusterIP' || !isPort(nodePort) ? undefined : nodePort,
    externalIps: externalAddresses(service, nodeAddress),
    affinitySeconds:
      spec.sessionAffinity === 'ClientIP'
        ? affinitySeconds(spec.sessionAffinityConfig?.clientIP?.timeoutSeconds)
        : undefined,
    ...selectBackends(slices, { nodeName, portName, protocol: servicePort.protocol ?? 'TCP' }),
    internalLocal: spec.internalTrafficPolicy === 'Local',
    externalLocal: reachedFromOutside && spec.externalTrafficPolicy === 'Local',
  };
}

function affinitySeconds(seconds: number | undefined): number {
  return seconds !== undefined && Number.isInteger(seconds) && seconds >= 1 && seconds <= MAX_AFFINITY_SECONDS
    ? seconds
    : AFFINITY_SECONDS;
}

/**
 * If none of the ranges can be used, for example because of their family, no client is allowed: no ranges would mean
 * everybody.
 */
function externalAddresses({ spec, status }: Service, nodeAddress: string | undefined): ExternalAddress[] {
  const given = (spec.externalIPs ?? []).map((ip) => ({ ip }));
  const ranges = (spec.loadBalancerSourceRanges ?? []).map((range) => range.trim());
  const sources = ranges.length === 0 ? {} : { sourceRanges: ranges.filter(isIpv4Range) };
  const ingress = spec.type === 'LoadBalancer' ? (status?.loadBalancer?.ingress ?? []) : [];
  const balanced = ingress.filter(({ ipMode }) => ipMode !== 'Proxy').map(({ ip = '' }) => ({ ip, ...sources }));
  const own = nodeAddress === undefined ? [] : [{ ip: nodeAddress, ...sources, isNodes: true as const }];
  return [...given, ...balanced.filter(({ ip }) => ip !== nodeAddress), ...own].filter(({ ip }) => isIpv4(ip));
}
