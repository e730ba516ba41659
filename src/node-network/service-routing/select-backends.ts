import type { EndpointSlice } from '../../api/discovery/endpoint-slice.ts';
import type { IpFamily } from './ip-family.ts';
import { addressOf, isSpecialAddress } from './ip-family.ts';

/** One address of a service, for one of its ports. */
export interface Backend {
  readonly ip: string;
  readonly port: number;
  /** It runs on this node. */
  readonly local: boolean;
}

export interface BackendQuery {
  readonly nodeName: string;
  /** Of the node; absent: it has none, and hints of zones do not count. */
  readonly zone?: string | undefined;
  /** IPv4 unless given. */
  readonly family?: IpFamily | undefined;
  /** Of the port of the service; '' when it has none. */
  readonly portName: string;
  readonly protocol: string;
}

interface Candidate extends Backend {
  readonly ready: boolean;
  readonly drains: boolean;
  /** Whether it is meant for this node, and for its zone; undefined: no hint says for which. */
  readonly forNode: boolean | undefined;
  readonly forZone: boolean | undefined;
}

export const isPort = (value: number | undefined): value is number =>
  value !== undefined && Number.isInteger(value) && value >= 1 && value <= 65535;

/**
 * Where the traffic of one port of a service may go: to what is ready or, while nothing is, to what still serves while
 * it ends. The rule holds for all endpoints and, on its own, for those of this node (upstream: pkg/proxy/topology.go).
 * Hints (topology-aware routing, `trafficDistribution`) narrow all endpoints to those of this node or its zone. In the
 * order of their addresses, whatever the slices' order.
 */
export function selectBackends(
  slices: readonly EndpointSlice[],
  query: BackendQuery,
): { readonly all: readonly Backend[]; readonly local: readonly Backend[] } {
  const found = new Map<string, Candidate>();
  for (const candidate of slices.flatMap((slice) => candidatesOf(slice, query))) {
    const key = `${candidate.ip}:${candidate.port}`;
    const before = found.get(key);
    // An address that two slices name counts as the better of both: it is between them for a moment.
    if (before === undefined || (!before.ready && candidate.ready)) found.set(key, candidate);
  }
  const candidates = [...found.entries()]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([, candidate]) => candidate);
  return { all: usable(hinted(candidates)), local: usable(candidates.filter((candidate) => candidate.local)) };
}

/**
 * Hints count if every ready endpoint has one and at least one of them is for this node, or else for its zone: half of
 * the hints may be from before a change (upstream: topologyModeFromHints).
 */
function hinted(candidates: readonly Candidate[]): readonly Candidate[] {
  const ready = candidates.filter((candidate) => candidate.ready);
  for (const key of ['forNode', 'forZone'] as const)
    if (ready.some((candidate) => candidate[key] === true) && ready.every((candidate) => candidate[key] !== undefined))
      return ready.filter((candidate) => candidate[key]);
  return candidates;
}

function candidatesOf(
  slice: EndpointSlice,
  { nodeName, zone, portName, protocol, family = 'IPv4' }: BackendQuery,
): Candidate[] {
  if (slice.addressType !== family) return [];
  const port = (slice.ports ?? []).find(
    (each) => (each.name ?? '') === portName && (each.protocol ?? 'TCP') === protocol,
  )?.port;
  if (!isPort(port)) return [];
  return (slice.endpoints ?? []).flatMap(({ addresses, conditions, nodeName: on, hints }) => {
    // All addresses of an endpoint lead to the same place; one is enough.
    const ip = addressOf(addresses[0], family);
    // Led to loopback or link-local, a packet of the node itself would reach what listens there for the node alone.
    if (ip === undefined || isSpecialAddress(ip)) return [];
    const { forNodes = [], forZones = [] } = hints ?? {};
    const ready = conditions?.ready ?? true;
    return [
      {
        ip,
        port,
        local: on === nodeName,
        ready,
        drains: (conditions?.serving ?? ready) && conditions?.terminating === true,
        forNode: forNodes.length === 0 ? undefined : forNodes.some(({ name }) => name === nodeName),
        forZone: zone === undefined || forZones.length === 0 ? undefined : forZones.some(({ name }) => name === zone),
      },
    ];
  });
}

function usable(candidates: readonly Candidate[]): Backend[] {
  const ready = candidates.filter((candidate) => candidate.ready);
  return (ready.length > 0 ? ready : candidates.filter((candidate) => candidate.drains)).map(({ ip, port, local }) => ({
    ip,
    port,
    local,
  }));
}
