import { SortedList } from '../../../base/sorted-list.ts';
import type { EndpointAddress, EndpointPort, EndpointSubset } from '../../../api/core/endpoints.ts';
import type { Service } from '../../../api/core/service.ts';
import { portsIn } from '../../controller-runtime/service-endpoints.ts';
import type { ServiceEndpoint } from '../../controller-runtime/service-endpoints.ts';

/** The maximum number of addresses in an object (upstream: maxCapacity); EndpointSlices have them all. */
const MAX_ADDRESSES = 1000;

/** The entry of one pod in the Endpoints of a service. */
export interface ListedAddress {
  readonly ports: readonly EndpointPort[];
  /** The text of the ports. Pods with the same one share a subset. */
  readonly group: string;
  readonly ready: boolean;
  readonly address: EndpointAddress;
}

/** Builds the entry of a pod. Undefined if it is not listed: a terminating pod, or one without address or port. */
export function listedAddress(service: Service, endpoint: ServiceEndpoint): ListedAddress | undefined {
  if (endpoint.terminating && !endpoint.ready) return undefined;
  const address = addressOf(service, endpoint);
  const ports = portsOf(service, endpoint);
  if (address === undefined || ports === undefined) return undefined;
  return { ports, group: JSON.stringify(ports), ready: endpoint.ready, address };
}

/** Sorts by address, then by pod: pods in their node's network share its address. */
function compareAddresses(left: EndpointAddress, right: EndpointAddress): number {
  return (
    compareTexts(left.ip, right.ip) ||
    compareTexts(left.targetRef?.name ?? '', right.targetRef?.name ?? '') ||
    compareTexts(left.targetRef?.uid ?? '', right.targetRef?.uid ?? '')
  );
}

const compareTexts = (left: string, right: string): number => (left < right ? -1 : Number(left > right));

interface Group {
  readonly ports: readonly EndpointPort[];
  readonly ready: SortedList<EndpointAddress>;
  readonly notReady: SortedList<EndpointAddress>;
}

/** Entries grouped by their ports and sorted as Endpoints list them. */
export class AddressGroups {
  readonly #groups = new Map<string, Group>();

  add({ group: key, ports, ready, address }: ListedAddress): void {
    let group = this.#groups.get(key);
    if (group === undefined) {
      group = { ports, ready: new SortedList(compareAddresses), notReady: new SortedList(compareAddresses) };
      this.#groups.set(key, group);
    }
    (ready ? group.ready : group.notReady).add(address);
  }

  delete({ group: key, ready, address }: ListedAddress): void {
    const group = this.#groups.get(key);
    if (group === undefined) return;
    (ready ? group.ready : group.notReady).delete(address);
    if (group.ready.size + group.notReady.size === 0) this.#groups.delete(key);
  }

  /**
   * Returns the subsets in the order of the texts of their ports. Each list has at most one address more than Endpoints
   * may hold, so the cost is bounded, and `truncateSubsets` sees whether some were omitted.
   */
  get subsets(): EndpointSubset[] {
    return [...this.#groups.entries()]
      .sort(([left], [right]) => compareTexts(left, right))
      .map(([, { ports, ready, notReady }]) =>
        newSubset(ports, ready.take(MAX_ADDRESSES + 1), notReady.take(MAX_ADDRESSES + 1)),
      );
  }
}

/** Builds a subset without empty lists. */
function newSubset(
  ports: readonly EndpointPort[],
  ready: readonly EndpointAddress[],
  notReady: readonly EndpointAddress[],
): EndpointSubset {
  return {
    ...(ready.length > 0 && { addresses: [...ready] }),
    ...(notReady.length > 0 && { notReadyAddresses: [...notReady] }),
    ...(ports.length > 0 && { ports: [...ports] }),
  };
}

/** Builds an address. Endpoints contain only the family of the service's first address. */
function addressOf(service: Service, { pod, hostname }: ServiceEndpoint): EndpointAddress | undefined {
  const wanted = service.spec.ipFamilies?.[0] === 'IPv6';
  const ip = (pod.status?.podIPs ?? []).find((each) => each.ip.includes(':') === wanted)?.ip;
  if (ip === undefined) return undefined;
  const { namespace, name, uid } = pod.metadata;
  const { nodeName } = pod.spec;
  return {
    ip,
    ...(hostname !== undefined && { hostname }),
    ...(nodeName !== undefined && { nodeName }),
    targetRef: { kind: 'Pod', namespace, name, uid },
  };
}

/** Returns the ports of a pod. A single unnamed port has no name field. */
function portsOf(service: Service, { pod }: ServiceEndpoint): EndpointPort[] | undefined {
  return portsIn(pod, service)?.map(({ name, ...rest }) => ({ ...(name !== '' && { name }), ...rest }));
}

/** Keeps at most the allowed number of addresses, ready ones first. Returns whether some were omitted. */
export function truncateSubsets(subsets: readonly EndpointSubset[]): {
  readonly subsets: EndpointSubset[];
  readonly truncated: boolean;
} {
  let left = MAX_ADDRESSES;
  let truncated = false;
  const take = (addresses: readonly EndpointAddress[] | undefined): EndpointAddress[] => {
    const taken = (addresses ?? []).slice(0, left);
    left -= taken.length;
    truncated ||= taken.length < (addresses ?? []).length;
    return taken;
  };
  const ready = subsets.map(({ addresses }) => take(addresses));
  const notReady = subsets.map(({ notReadyAddresses }) => take(notReadyAddresses));
  const kept = subsets.map(({ ports = [] }, index) => newSubset(ports, ready[index] ?? [], notReady[index] ?? []));
  return {
    subsets: truncated
      ? kept.filter(({ addresses, notReadyAddresses }) => addresses !== undefined || notReadyAddresses !== undefined)
      : [...subsets],
    truncated,
  };
}
