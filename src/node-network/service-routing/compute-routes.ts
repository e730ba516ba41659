import type { Service, ServicePort } from '../../api/core/service.ts';
import type { EndpointSlice } from '../../api/discovery/endpoint-slice.ts';
import type { IpFamily } from './ip-family.ts';
import { addressOf, familyOf, rangeOf } from './ip-family.ts';
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
  /** The externalIPs, and load balancer addresses unless their `ipMode` is Proxy. */
  readonly externalIps: readonly ExternalAddress[];
  /** How long a client keeps its endpoint (session affinity), in seconds; absent: no affinity. */
  readonly affinitySeconds: number | undefined;
  readonly all: readonly Backend[];
  readonly local: readonly Backend[];
  /** Whether traffic from inside the cluster stays on its node (internalTrafficPolicy: Local). */
  readonly internalLocal: boolean;
  /** Whether traffic from outside stays on its node and keeps its source address (externalTrafficPolicy: Local). */
  readonly externalLocal: boolean;
}

export interface ExternalAddress {
  readonly ip: string;
  /** The allowed client ranges; absent means all clients. */
  readonly sourceRanges?: readonly string[];
  /** Whether it is the node's own address, which the load balancer of the node assigned to the service. */
  readonly isNodes?: true;
}

const protocols: ReadonlyMap<string, RouteProtocol> = new Map([
  ['TCP', 'tcp'],
  ['UDP', 'udp'],
  ['SCTP', 'sctp'],
]);
/** Upstream's default, three hours, and the maximum of the API, one day. */
const AFFINITY_SECONDS = 10_800;
const MAX_AFFINITY_SECONDS = 86_400;
/**
 * The maximum length of a namespace, a service name and a port name. Together they fit into an iptables comment. One
 * comment that is too long makes iptables-restore refuse all rules.
 */
const MAX_NAME_LENGTH = 63;

/**
 * Computes the routes of one IP family: one for each port of each service that has a cluster IP. Headless and
 * ExternalName services have none, and neither do services of another proxy (label
 * `service.kubernetes.io/service-proxy-name`). The routes are sorted, so they do not depend on the order of the
 * services.
 */
export function computeRoutes(
  services: readonly Service[],
  slicesOf: (service: Service) => readonly EndpointSlice[],
  place: RoutingPlace & { readonly balancer?: NodeLoadBalancer | undefined },
): ServiceRoute[] {
  const nodeAddressOf = nodeAddresses(services, place.balancer, place.family);
  return services
    .filter((service) => isRouted(service, place.family ?? 'IPv4'))
    .flatMap((service) => routesOf(service, slicesOf(service), nodeAddressOf(service), place))
    .sort(byNameAndProtocol);
}

export interface RoutingPlace {
  readonly nodeName: string;
  /** The zone of the node. */
  readonly zone?: string | undefined;
  /** The family; default IPv4. */
  readonly family?: IpFamily | undefined;
}

/**
 * Returns the node's address for the services that own it. Their status is not used, because other programs write it
 * too.
 */
export function nodeAddresses(
  services: readonly Service[],
  balancer: NodeLoadBalancer | undefined,
  family: IpFamily = 'IPv4',
): (service: Service) => string | undefined {
  const address = balancer?.addresses.find((ip) => familyOf(ip) === family);
  const assigned = balancer === undefined ? undefined : assignNodeAddress(services, balancer);
  return ({ metadata }) => {
    const key = `${metadata.namespace}/${metadata.name}`;
    return assigned?.has(key) === true && assigned.get(key) === undefined ? address : undefined;
  };
}

/** The ports of one service. */
export function routesOf(
  service: Service,
  slices: readonly EndpointSlice[],
  nodeAddress: string | undefined,
  place: RoutingPlace,
): ServiceRoute[] {
  if (!isRouted(service, place.family ?? 'IPv4')) return [];
  return (service.spec.ports ?? []).flatMap((port) => routeOf(service, port, { slices, nodeAddress, ...place }) ?? []);
}

export const byNameAndProtocol = (left: ServiceRoute, right: ServiceRoute): number =>
  compare(left.name, right.name) || compare(left.protocol, right.protocol);

const compare = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0);
const isName = (text: string): boolean =>
  text.length <= MAX_NAME_LENGTH && /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(text);

function isRouted({ metadata, spec }: Service, family: IpFamily): boolean {
  if (spec.type === 'ExternalName' || metadata.labels?.['service.kubernetes.io/service-proxy-name'] !== undefined)
    return false;
  return clusterIpOf(spec, family) !== undefined && isName(metadata.namespace) && isName(metadata.name);
}

function clusterIpOf(spec: Service['spec'], family: IpFamily): string | undefined {
  return (spec.clusterIPs ?? [spec.clusterIP ?? '']).flatMap((ip) => addressOf(ip, family) ?? [])[0];
}

function routeOf(
  service: Service,
  servicePort: ServicePort,
  place: RoutingPlace & { readonly slices: readonly EndpointSlice[]; readonly nodeAddress: string | undefined },
): ServiceRoute | undefined {
  const { metadata, spec } = service;
  const { slices, nodeName, nodeAddress, zone, family = 'IPv4' } = place;
  const { name: portName = '', port, nodePort } = servicePort;
  const protocol = protocols.get(servicePort.protocol ?? 'TCP');
  const clusterIp = clusterIpOf(spec, family);
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
    externalIps: externalAddresses(service, nodeAddress, family),
    affinitySeconds:
      spec.sessionAffinity === 'ClientIP'
        ? affinitySeconds(spec.sessionAffinityConfig?.clientIP?.timeoutSeconds)
        : undefined,
    ...selectBackends(slices, { nodeName, zone, family, portName, protocol: servicePort.protocol ?? 'TCP' }),
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
 * Returns the external addresses. If none of the ranges can be used, for example because of their family, no client is
 * allowed, because an empty list would allow all.
 */
function externalAddresses(
  { spec, status }: Service,
  nodeAddress: string | undefined,
  family: IpFamily,
): ExternalAddress[] {
  const given = (spec.externalIPs ?? []).map((ip) => ({ ip }));
  const ranges = (spec.loadBalancerSourceRanges ?? []).map((range) => range.trim());
  const sources = ranges.length === 0 ? {} : { sourceRanges: ranges.flatMap((range) => rangeOf(range, family) ?? []) };
  const ingress = spec.type === 'LoadBalancer' ? (status?.loadBalancer?.ingress ?? []) : [];
  const balanced = ingress.filter(({ ipMode }) => ipMode !== 'Proxy').map(({ ip = '' }) => ({ ip, ...sources }));
  const own = nodeAddress === undefined ? [] : [{ ip: nodeAddress, ...sources, isNodes: true as const }];
  return [...given, ...balanced.filter(({ ip }) => ip !== nodeAddress), ...own].flatMap((each) => {
    const ip = addressOf(each.ip, family);
    return ip === undefined ? [] : [{ ...each, ip }];
  });
}
