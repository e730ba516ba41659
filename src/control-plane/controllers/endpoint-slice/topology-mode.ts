import type { Service } from '../../../api/core/service.ts';
import type { Endpoint, EndpointSlice } from '../../../api/discovery/endpoint-slice.ts';
import { planTopologyHints } from './topology-hints.ts';
import { identityOf } from './plan-slices.ts';
import type { AddressType, Group } from './plan-slices.ts';
import type { ZoneShares } from './zone-shares.ts';

const TOPOLOGY_MODE = 'service.kubernetes.io/topology-mode';
/** The former name, which takes precedence. */
const TOPOLOGY_AWARE_HINTS = 'service.kubernetes.io/topology-aware-hints';

/** Whether the controller gives each zone endpoints by its CPUs (upstream: hintsEnabled). */
export function isTopologyModeAuto({ metadata: { annotations = {} } }: Service): boolean {
  const mode = annotations[TOPOLOGY_AWARE_HINTS] ?? annotations[TOPOLOGY_MODE];
  return mode === 'Auto' || mode === 'auto';
}

export interface TopologyEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: 'TopologyAwareHintsEnabled' | 'TopologyAwareHintsDisabled';
  readonly message: string;
}

/** Whether a service's endpoints have hints by zone shares, or the reason why not. Events report only changes of it. */
type HintState = { readonly refused: string | undefined };

/** Adds the hints of topology mode Auto to the endpoints of services, and reports when they are added or removed. */
export class TopologyMode {
  readonly #states = new Map<string, Map<AddressType, HintState>>();

  forget(key: string): void {
    this.#states.delete(key);
  }

  /** Sets the hints. `existing` are the published slices of the service. */
  apply(
    key: string,
    facts: {
      readonly service: Service;
      readonly groups: readonly Group[];
      readonly existing: readonly EndpointSlice[];
      readonly shares: () => ZoneShares | undefined;
    },
  ): { readonly groups: readonly Group[]; readonly events: readonly TopologyEvent[] } {
    const { service, groups, existing, shares } = facts;
    if (!isTopologyModeAuto(service)) return { groups, events: this.#end(key) };
    const states = this.#states.get(key) ?? new Map<AddressType, HintState>();
    this.#states.set(key, states);
    const events: TopologyEvent[] = [];
    const hinted: Group[] = [];
    for (const family of new Set(groups.map(({ addressType }) => addressType))) {
      const ofFamily = groups.filter(({ addressType }) => addressType === family);
      const published = publishedHints(existing.filter(({ addressType }) => addressType === family));
      const plan = hintGroups(ofFamily, published, shares());
      hinted.push(...plan.groups);
      // After a restart, hints that are published need no event.
      const before = states.get(family) ?? (published.size > 0 ? { refused: undefined } : undefined);
      states.set(family, { refused: plan.refused });
      if (before === undefined || before.refused !== plan.refused) events.push(eventOf(family, plan.refused));
    }
    return { groups: hinted, events };
  }

  #end(key: string): TopologyEvent[] {
    const states = this.#states.get(key);
    this.#states.delete(key);
    return [...(states ?? [])].flatMap(([family, { refused }]) =>
      refused === undefined ? [eventOf(family, 'Topology Aware Hints has been disabled')] : [],
    );
  }
}

function eventOf(family: AddressType, refused: string | undefined): TopologyEvent {
  const message = `${refused ?? 'Topology Aware Hints has been enabled'}, addressType: ${family}`;
  return refused === undefined
    ? { type: 'Normal', reason: 'TopologyAwareHintsEnabled', message }
    : { type: 'Warning', reason: 'TopologyAwareHintsDisabled', message };
}

/** Returns the zones of the published hints, by endpoint. */
function publishedHints(slices: readonly EndpointSlice[]): Map<string, string> {
  const hints = new Map<string, string>();
  for (const { endpoints } of slices)
    for (const endpoint of endpoints) {
      const zone = endpoint.hints?.forZones?.[0]?.name;
      if (zone !== undefined) hints.set(identityOf(endpoint), zone);
    }
  return hints;
}

/** Counts the endpoints of all groups together, because endpoints with other ports serve the same clients. */
function hintGroups(
  groups: readonly Group[],
  published: ReadonlyMap<string, string>,
  shares: ZoneShares | undefined,
): { readonly groups: readonly Group[]; readonly refused: string | undefined } {
  const ready = groups.flatMap(({ endpoints }) => endpoints.filter(isReady));
  const { zones, refused } = planTopologyHints(
    ready.map((endpoint) => ({ zone: endpoint.zone ?? '', hinted: published.get(identityOf(endpoint)) })),
    shares,
  );
  const zoneOf = new Map(zones?.map((zone, at) => [ready[at], zone]));
  const withHint = (endpoint: Endpoint): Endpoint => {
    const zone = zoneOf.get(endpoint);
    return zone === undefined ? endpoint : { ...endpoint, hints: { forZones: [{ name: zone }] } };
  };
  return { groups: groups.map((group) => ({ ...group, endpoints: group.endpoints.map(withHint) })), refused };
}

const isReady = ({ conditions }: Endpoint): boolean => conditions?.ready === true;
