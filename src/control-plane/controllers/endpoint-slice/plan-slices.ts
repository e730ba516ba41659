import { isDeepStrictEqual } from 'node:util';
import type { Endpoint, EndpointPort, EndpointSlice } from '../../../api/discovery/endpoint-slice.ts';

/** The maximum number of endpoints in a slice (upstream: --max-endpoints-per-slice). */
export const MAX_ENDPOINTS = 100;

export type AddressType = 'IPv4' | 'IPv6';

/** The desired endpoints with the same ports and family. */
export interface Group {
  readonly addressType: AddressType;
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly Endpoint[];
}

/** A slice's content; its metadata is the same for all of a service. */
export interface SliceContent {
  readonly addressType: AddressType;
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly Endpoint[];
}

export interface SlicePlan {
  readonly create: readonly SliceContent[];
  readonly update: readonly { readonly slice: EndpointSlice; readonly endpoints: readonly Endpoint[] }[];
  readonly delete: readonly EndpointSlice[];
}

/** Returns the identity of an endpoint: the UID of its pod, or its addresses. */
export const identityOf = (endpoint: Endpoint): string => endpoint.targetRef?.uid ?? endpoint.addresses.join(',');

/**
 * Plans the smallest change of slices that publishes the groups (upstream: endpointslice reconciler). Existing
 * endpoints stay in their slice. New ones fill slices that change anyway, then slices with room, then new slices. Empty
 * slices are deleted, but a service keeps at least one.
 */
export function planSlices(
  existing: readonly EndpointSlice[],
  groups: readonly Group[],
  most = MAX_ENDPOINTS,
): SlicePlan {
  const create: SliceContent[] = [];
  const update: { slice: EndpointSlice; endpoints: readonly Endpoint[] }[] = [];
  const remove = new Set(existing);
  for (const group of groups) {
    const own = existing.filter(
      (slice) => slice.addressType === group.addressType && isDeepStrictEqual(slice.ports, group.ports),
    );
    for (const slice of own) remove.delete(slice);
    const planned = planGroup(own, group, most);
    create.push(...planned.create);
    update.push(...planned.update);
    for (const slice of planned.delete) remove.add(slice);
  }
  return { create, update, delete: [...remove] };
}

function planGroup(own: readonly EndpointSlice[], { addressType, ports, endpoints }: Group, most: number): SlicePlan {
  const missing = new Map(endpoints.map((endpoint) => [identityOf(endpoint), endpoint]));
  const drafts = own.map((slice) => {
    const kept: Endpoint[] = [];
    let changed = false;
    for (const endpoint of slice.endpoints) {
      const wanted = missing.get(identityOf(endpoint));
      missing.delete(identityOf(endpoint));
      if (wanted === undefined) changed = true;
      else {
        changed ||= !isDeepStrictEqual(wanted, endpoint);
        kept.push(wanted);
      }
    }
    return { slice, kept, changed };
  });
  const rest = [...missing.values()];
  // Slices that change anyway are filled first: fewer written slices mean fewer updates to every node.
  for (const draft of [...drafts].sort(
    (left, right) => Number(right.changed) - Number(left.changed) || right.kept.length - left.kept.length,
  )) {
    const room = most - draft.kept.length;
    if (room <= 0 || rest.length === 0) continue;
    draft.kept.push(...rest.splice(0, room));
    draft.changed = true;
  }
  const create: SliceContent[] = [];
  while (rest.length > 0) create.push({ addressType, ports, endpoints: rest.splice(0, most) });
  const empty = drafts.filter(({ kept }) => kept.length === 0);
  const keepsOneEmpty = endpoints.length === 0 && empty.length > 0;
  const gone = keepsOneEmpty ? empty.slice(1) : empty;
  if (endpoints.length === 0 && own.length === 0) create.push({ addressType, ports, endpoints: [] });
  return {
    create,
    update: drafts
      .filter((draft) => draft.changed && !gone.includes(draft))
      .map(({ slice, kept }) => ({ slice, endpoints: kept })),
    delete: gone.map(({ slice }) => slice),
  };
}
