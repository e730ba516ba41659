import { isDeepStrictEqual } from 'node:util';
import type { EndpointSlice } from '../../../api/discovery/endpoint-slice.ts';
import { identityOf, MAX_ENDPOINTS, planSlices } from './plan-slices.ts';
import type { Group, SlicePlan } from './plan-slices.ts';
import { SliceSizes } from './slice-sizes.ts';

/** The part of a service's slices that a pass must read. */
export interface SliceScope {
  readonly slices: readonly EndpointSlice[];
  /** The changed endpoints, and all endpoints of these slices. */
  readonly identities: ReadonlySet<string>;
}

/**
 * Tracks the published slices of one service: which slice lists an endpoint, and which slices have changed since the
 * last pass. After a full pass, slices outside a scope list exactly the desired endpoints.
 */
export class PublishedSlices {
  readonly #slices = new Map<string, EndpointSlice>();
  readonly #sizes = new SliceSizes();
  /** The name of the slice that lists an endpoint, by identity. */
  readonly #listedIn = new Map<string, string>();
  /**
   * The slices without endpoints. They belong to each scope, because a service keeps one only while it has no
   * endpoints.
   */
  readonly #empty = new Set<string>();
  #changedSlices = new Set<string>();
  #changedEndpoints = new Set<string>();
  #needsFullPass = true;

  get all(): EndpointSlice[] {
    return [...this.#slices.values()];
  }

  /** Makes the next pass read all slices. */
  requireFullPass(): void {
    this.#needsFullPass = true;
  }

  put(slice: EndpointSlice): void {
    const { name } = slice.metadata;
    this.remove(name);
    this.#slices.set(name, slice);
    this.#sizes.add(slice);
    this.#changedSlices.add(name);
    if (slice.endpoints.length === 0) this.#empty.add(name);
    this.#list(slice);
  }

  remove(name: string): void {
    const slice = this.#slices.get(name);
    if (slice === undefined) return;
    this.#slices.delete(name);
    this.#sizes.remove(slice);
    this.#empty.delete(name);
    for (const endpoint of slice.endpoints) {
      const identity = identityOf(endpoint);
      this.#changedEndpoints.add(identity);
      if (this.#listedIn.get(identity) === name) this.#listedIn.delete(identity);
    }
  }

  /** Begins a pass. Returns the scope of the changes, including these endpoints. Undefined means everything. */
  take(changed: ReadonlySet<string> | undefined): SliceScope | undefined {
    const [slices, endpoints] = [this.#changedSlices, this.#changedEndpoints];
    this.#changedSlices = new Set();
    this.#changedEndpoints = new Set();
    if (this.#needsFullPass || changed === undefined) {
      this.#needsFullPass = false;
      this.#listedIn.clear();
      for (const slice of this.#slices.values()) this.#list(slice);
      return undefined;
    }
    return this.#close(slices, new Set([...endpoints, ...changed]));
  }

  /** Adds slices with room for those endpoints for which the slices of the scope have none. */
  withRoom(scope: SliceScope, groups: readonly Group[], most: number): SliceScope {
    const names = new Set(scope.slices.map(({ metadata }) => metadata.name));
    const count = names.size;
    for (const { addressType, ports, endpoints } of groups) {
      const isOwn = (slice: EndpointSlice): boolean =>
        slice.addressType === addressType && isDeepStrictEqual(slice.ports, ports);
      let left = endpoints.length - scope.slices.filter(isOwn).length * most;
      if (left <= 0) continue;
      for (const slice of this.#sizes.withRoom(addressType, ports, most)) {
        if (left <= 0) break;
        if (names.has(slice.metadata.name) || !isOwn(slice)) continue;
        names.add(slice.metadata.name);
        left -= most - slice.endpoints.length;
      }
    }
    return names.size === count ? scope : this.#close(names, scope.identities);
  }

  /** Whether a slice of this family outside the scope lists an endpoint. */
  hasOthers({ slices }: SliceScope, addressType: string): boolean {
    const own = slices.filter((slice) => slice.addressType === addressType && slice.endpoints.length > 0);
    return this.#sizes.filled(addressType) > own.length;
  }

  #close(names: ReadonlySet<string>, changed: ReadonlySet<string>): SliceScope {
    const slices = new Map<string, EndpointSlice>();
    const identities = new Set(changed);
    for (const name of [...names, ...this.#empty, ...[...changed].map((identity) => this.#listedIn.get(identity))]) {
      const slice = name === undefined ? undefined : this.#slices.get(name);
      if (slice === undefined || name === undefined) continue;
      slices.set(name, slice);
      for (const endpoint of slice.endpoints) identities.add(identityOf(endpoint));
    }
    return { slices: [...slices.values()], identities };
  }

  /**
   * Records the endpoints of a slice. An endpoint in two slices requires a full pass, because only one slice is
   * recorded.
   */
  #list({ metadata: { name }, endpoints }: EndpointSlice): void {
    for (const endpoint of endpoints) {
      const identity = identityOf(endpoint);
      if (this.#listedIn.has(identity)) this.#needsFullPass = true;
      this.#listedIn.set(identity, name);
    }
  }
}

export interface PublishParts {
  readonly published: PublishedSlices;
  /** The UIDs of pods that have changed since the last pass. Undefined means all. */
  readonly changed: ReadonlySet<string> | undefined;
  /** Returns the desired endpoints with these identities. Undefined means all. */
  readonly groupsOf: (identities: ReadonlySet<string> | undefined) => readonly Group[];
  readonly most?: number;
}

/** The plan of a pass, and the slices that it read. */
export interface PublishPlan {
  readonly plan: SlicePlan;
  readonly slices: readonly EndpointSlice[];
}

/** Begins a pass over the changes. Its cost depends on the changes, and hardly on the size of the service. */
export function planChanges({ published, changed, groupsOf, most = MAX_ENDPOINTS }: PublishParts): PublishPlan {
  const scope = published.take(changed);
  const scoped = scope === undefined ? undefined : withRoomFor(published, scope, groupsOf, most);
  if (scoped !== undefined)
    return { plan: planSlices(scoped.scope.slices, scoped.groups, most), slices: scoped.scope.slices };
  const slices = published.all;
  return { plan: planSlices(slices, groupsOf(undefined), most), slices };
}

/** Returns the scope with room, or undefined if only a full pass can decide which empty slice stays. */
function withRoomFor(
  published: PublishedSlices,
  changed: SliceScope,
  groupsOf: PublishParts['groupsOf'],
  most: number,
): { readonly scope: SliceScope; readonly groups: readonly Group[] } | undefined {
  const groups = groupsOf(changed.identities);
  const scope = published.withRoom(changed, groups, most);
  const wanted = scope === changed ? groups : groupsOf(scope.identities);
  const filled = wanted.filter(({ endpoints }) => endpoints.length > 0);
  const hasEmptyFamily = wanted.some(
    ({ addressType, endpoints }) => endpoints.length === 0 && !published.hasOthers(scope, addressType),
  );
  return hasEmptyFamily ? undefined : { scope, groups: filled };
}
