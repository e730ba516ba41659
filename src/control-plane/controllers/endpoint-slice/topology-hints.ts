import type { ZoneShares } from './zone-shares.ts';

/** The fraction by which an endpoint may exceed its share of the traffic (upstream: overloadThreshold). */
const OVERLOAD = 0.2;

/** A ready endpoint. */
export interface EndpointLocation {
  /** The zone of the endpoint; '' if unknown. */
  readonly zone: string;
  /** The zone of its published hint. */
  readonly hinted: string | undefined;
}

export type TopologyHints =
  /** The zones whose clients use the endpoints, in endpoint order. */
  | { readonly zones: readonly string[]; readonly refused?: never }
  /** Why there can be no hints, in upstream's words. */
  | { readonly refused: string; readonly zones?: never };

interface ZoneTarget {
  readonly share: number;
  readonly minimum: number;
  count: number;
  target: number;
}

/**
 * Computes the hints of the ready endpoints of a service in one IP family, for the annotation `topology-mode: Auto`.
 * Each zone gets as many endpoints as its share of the CPUs requires, so that no endpoint gets more than 20 % above the
 * average traffic (upstream: TopologyCache AddHints). Published hints stay while they satisfy this, and most endpoints
 * serve their own zone. `shares` is undefined if it is unknown. It is pure, and linear in the number of endpoints.
 */
export function planTopologyHints(
  endpoints: readonly EndpointLocation[],
  shares: ZoneShares | undefined,
): TopologyHints {
  const refused = reasonAgainst(endpoints, shares);
  if (shares === undefined || refused !== undefined) return { refused: refused ?? '' };
  const zones = new Map<string, ZoneTarget>();
  for (const [zone, share] of shares)
    zones.set(zone, { share, minimum: minimumOf(share, endpoints.length), count: 0, target: 0 });
  const hints = endpoints.map(({ zone, hinted }) => (hinted !== undefined && zones.has(hinted) ? hinted : zone));
  for (const hint of hints) {
    const zone = zones.get(hint);
    if (zone !== undefined) zone.count++;
  }
  if (isSettled(endpoints, zones)) return { zones: hints };
  setTargets(zones, endpoints.length);
  return { zones: moveHints(endpoints, hints, zones) };
}

const minimumOf = (share: number, endpoints: number): number => Math.ceil((share * endpoints) / (1 + OVERLOAD));

function reasonAgainst(endpoints: readonly EndpointLocation[], shares: ZoneShares | undefined): string | undefined {
  if (shares === undefined)
    return 'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes';
  const counts = `(${endpoints.length} endpoints, ${shares.size} zones)`;
  if (shares.size > endpoints.length) return `Insufficient number of endpoints ${counts}`;
  let minimum = 0;
  for (const share of shares.values()) minimum += minimumOf(share, endpoints.length);
  if (minimum > endpoints.length)
    return `Unable to allocate minimum required endpoints to each zone without exceeding overload threshold ${counts}`;
  return endpoints.some(({ zone }) => zone === '') ? 'One or more endpoints do not have a zone specified' : undefined;
}

/** Whether all endpoints have hints, and no zone has too few. */
function isSettled(endpoints: readonly EndpointLocation[], zones: ReadonlyMap<string, ZoneTarget>): boolean {
  return (
    endpoints.every(({ hinted }) => hinted !== undefined && zones.has(hinted)) &&
    [...zones.values()].every(({ count, minimum }) => count >= minimum)
  );
}

/**
 * Computes whole numbers near the shares, at least the minimums, which add up to `total`. A zone that has one more than
 * its share keeps it before another zone gets one, so that a difference below one endpoint moves nothing.
 */
function setTargets(zones: ReadonlyMap<string, ZoneTarget>, total: number): void {
  const all = [...zones.values()];
  for (const zone of all) zone.target = Math.max(Math.floor(zone.share * total), zone.minimum);
  let missing = total - all.reduce((sum, { target }) => sum + target, 0);
  const rest = ({ share, target }: ZoneTarget): number => share * total - target;
  const wants = (zone: ZoneTarget): number => (zone.count > zone.target ? 1 : 0) + rest(zone);
  for (const zone of all.toSorted((left, right) => wants(right) - wants(left))) {
    if (missing <= 0) break;
    zone.target++;
    missing--;
  }
  // Minimums above the shares of small zones are taken from the zones that can spare most.
  for (const zone of all.toSorted((left, right) => rest(left) - rest(right))) {
    if (missing >= 0) break;
    const taken = Math.min(zone.target - zone.minimum, -missing);
    zone.target -= taken;
    missing += taken;
  }
}

/**
 * Moves endpoints from zones with too many to zones with too few. Endpoints that are in the receiving zone move first.
 */
function moveHints(
  endpoints: readonly EndpointLocation[],
  hints: readonly string[],
  zones: ReadonlyMap<string, ZoneTarget>,
): string[] {
  const moved = [...hints];
  const hasTooMany = (name: string): boolean => {
    const zone = zones.get(name);
    return zone === undefined || zone.count > zone.target;
  };
  const move = (at: number, from: string, to: string): void => {
    const [giving, receiving] = [zones.get(from), zones.get(to)];
    if (giving !== undefined) giving.count--;
    if (receiving !== undefined) receiving.count++;
    moved[at] = to;
  };
  const lacks = (name: string): boolean => {
    const zone = zones.get(name);
    return zone !== undefined && zone.count < zone.target;
  };
  for (const [at, hint] of hints.entries()) {
    const home = endpoints[at]?.zone ?? '';
    if (home !== hint && hasTooMany(hint) && lacks(home)) move(at, hint, home);
  }
  const receivers = [...zones.keys()].sort();
  let next = 0;
  for (const [at, hint] of moved.entries()) {
    if (!hasTooMany(hint)) continue;
    while (next < receivers.length && !lacks(receivers[next] ?? '')) next++;
    const receiver = receivers[next];
    if (receiver === undefined) break;
    move(at, hint, receiver);
  }
  return moved;
}
