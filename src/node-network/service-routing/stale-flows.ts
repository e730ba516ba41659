/**
 * Finds UDP flows to delete. A UDP flow has no end: the kernel sends all packets of a client to the endpoint of the
 * first one, until a pause. So flows to a removed endpoint must be deleted, and also flows to a service that had no
 * endpoint and now has one (upstream: pkg/proxy/conntrack/cleanup.go).
 */
import type { ServiceRoute } from './compute-routes.ts';

/** A flow as the kernel tracks it. */
export interface UdpFlow {
  /** The address to which the client sent its packets. */
  readonly to: Place;
  /** The address from which the answers come: the endpoint. */
  readonly from: Place;
}

export interface Place {
  readonly ip: string;
  readonly port: number;
}

/** The kernel's tracked flows. `remove` deletes all flows with the same addresses and ports. */
export interface FlowTable {
  /** Returns the UDP flows of one family. Throws `NotFound` if the program is missing. */
  list(family: 'ipv4' | 'ipv6'): Promise<readonly UdpFlow[]>;
  remove(family: 'ipv4' | 'ipv6', flow: UdpFlow): Promise<void>;
}

/**
 * Parses the output of `conntrack -L -p udp`, one flow per line: addresses and ports of the client's packets, then of
 * the replies.
 */
export function parseFlows(text: string): UdpFlow[] {
  return text.split('\n').flatMap((line) => {
    const words = [...line.matchAll(/(?<![a-z])(src|dst|sport|dport)=([0-9a-fA-F.:]{1,39})(?= |$)/g)];
    const value = (at: number, name: string): string => (words[at]?.[1] === name ? (words[at][2] ?? '') : '');
    const to = placeOf(value(1, 'dst'), value(3, 'dport'));
    const from = placeOf(value(4, 'src'), value(6, 'sport'));
    return to === undefined || from === undefined ? [] : [{ to, from }];
  });
}

function placeOf(ip: string, port: string): Place | undefined {
  return ip === '' || !/^\d{1,5}$/.test(port) ? undefined : { ip, port: Number(port) };
}

const keyOf = ({ ip, port }: Place): string => `${ip} ${port}`;

/**
 * Selects the flows to delete, each combination of addresses once. A node port is identified only by its number,
 * because it is open on every address of the node and no other program can use it.
 */
export function selectStaleFlows(flows: readonly UdpFlow[], routes: readonly ServiceRoute[]): UdpFlow[] {
  const endpointsAt = new Map<string, Set<string>>();
  const nodePorts = new Map<number, Set<string>>();
  for (const route of routes) {
    if (route.protocol !== 'udp') continue;
    const endpoints = new Set([...route.all, ...route.local].map(keyOf));
    for (const ip of [route.clusterIp, ...route.externalIps.map((each) => each.ip)])
      endpointsAt.set(keyOf({ ip, port: route.port }), endpoints);
    if (route.nodePort !== undefined) nodePorts.set(route.nodePort, endpoints);
  }
  const stale = new Map<string, UdpFlow>();
  for (const flow of flows) {
    // A flow to the same port of another machine is not redirected by a service.
    const byPort = flow.from.ip === flow.to.ip ? undefined : nodePorts.get(flow.to.port);
    const endpoints = endpointsAt.get(keyOf(flow.to)) ?? byPort;
    if (endpoints === undefined || endpoints.has(keyOf(flow.from))) continue;
    // Without an endpoint there is no new target, and the next packet would only create the same flow again.
    if (endpoints.size === 0 && keyOf(flow.from) === keyOf(flow.to)) continue;
    stale.set(`${keyOf(flow.to)} ${keyOf(flow.from)}`, flow);
  }
  return [...stale.values()];
}

/**
 * Returns a text of the parts of the routes on which flows depend. If two texts are equal, no flow has become stale.
 */
export function udpEndpoints(routes: readonly ServiceRoute[]): ReadonlySet<string> {
  const found = new Set<string>();
  for (const { protocol, name, clusterIp, port, all, local } of routes)
    if (protocol === 'udp')
      for (const endpoint of [...all, ...local]) found.add(`${name} ${clusterIp} ${port} ${keyOf(endpoint)}`);
  return found;
}
