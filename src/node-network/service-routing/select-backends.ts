import type { EndpointSlice } from '../../api/discovery/endpoint-slice.ts';
import type { IpFamily } from './ip-family.ts';
import { addressOf, isSpecialAddress } from './ip-family.ts';

/** One address of a service, for one of its ports. */
export interface Backend {
  readonly ip: string;
  readonly port: number;
  /** Whether the endpoint runs on this node. */
  readonly local: boolean;
}

export interface BackendQuery {
  readonly nodeName: string;
  /** The zone of the node; absent if it has none, and then zone hints are ignored. */
  readonly zone?: string | undefined;
  /** The family; default IPv4. */
  readonly family?: IpFamily | undefined;
  /** The name of the service's port; '' if it has none. */
  readonly portName: string;
  readonly protocol: string;
}

interface Candidate extends Backend {
  readonly ready: boolean;
  readonly drains: boolean;
  /** Whether the hints contain this node and its zone; undefined if the endpoint has no hints. */
  readonly forNode: boolean | undefined;
  readonly forZone: boolean | undefined;
}

export const isPort = (value: number | undefined): value is number =>
  value !== undefined && Number.isInteger(value) && value >= 1 && value <= 65535;

/**
 * Selects the endpoints that receive traffic of one service port: the ready ones or, if none is ready, those that are
 * serving and terminating. The rule applies to all endpoints, and separately to those of this node (upstream:
 * pkg/proxy/topology.go). Hints (topology-aware routing, `trafficDistribution`) narrow all endpoints to those for this
 * node or its zone. The result is sorted by address.
 */
export function selectBackends(
  slices: readonly EndpointSlice[],
  query: BackendQuery,
): { readonly all: readonly Backend[]; readonly local: readonly Backend[] } {
  const found = new Map<string, Candidate>();
  for (const candidate of slices.flatMap((slice) => candidatesOf(slice, query))) {
    const key = `${candidate.ip}:${candidate.port}`;
    const before = found.get(key);
    // An endpoint that moves between slices is in both for a moment. The better of its two states is used.
    if (before === undefined || (!before.ready && candidate.ready)) found.set(key, candidate);
  }
  const candidates = [...found.entries()]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([, candidate]) => candidate);
  return { all: usable(hinted(candidates)), local: usable(candidates.filter((candidate) => candidate.local)) };
}

/**
 * Applies the hints if every ready endpoint has one and at least one of them is for this node, or else for its zone.
 * Some hints may be older than a change of the topology (upstream: topologyModeFromHints).
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
    // All addresses of an endpoint lead to the same pod, so one is enough.
    const ip = addressOf(addresses[0], family);
    // A loopback or link-local endpoint would expose programs that listen there for the node alone.
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
