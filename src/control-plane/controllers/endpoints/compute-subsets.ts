import type { EndpointAddress, EndpointPort, EndpointSubset } from '../../../api/core/endpoints.ts';
import type { Service } from '../../../api/core/service.ts';
import { portsIn } from '../../controller-runtime/service-endpoints.ts';
import type { ServiceEndpoint } from '../../controller-runtime/service-endpoints.ts';

/** The maximum number of addresses in an object (upstream: maxCapacity); EndpointSlices have them all. */
const MAX_ADDRESSES = 1000;

interface Collected {
  readonly ports: readonly EndpointPort[];
  readonly ready: EndpointAddress[];
  readonly notReady: EndpointAddress[];
}

/** Groups the endpoints of a service by their ports. Terminating pods are omitted. */
export function computeSubsets(service: Service, endpoints: readonly ServiceEndpoint[]): EndpointSubset[] {
  const groups = new Map<string, Collected>();
  for (const endpoint of endpoints) {
    if (endpoint.terminating && !endpoint.ready) continue;
    const address = addressOf(service, endpoint);
    const ports = portsOf(service, endpoint);
    if (address === undefined || ports === undefined) continue;
    const key = JSON.stringify(ports);
    let group = groups.get(key);
    if (group === undefined) groups.set(key, (group = { ports, ready: [], notReady: [] }));
    (endpoint.ready ? group.ready : group.notReady).push(address);
  }
  return [...groups.values()].map(({ ports, ready, notReady }) => ({
    ...(ready.length > 0 && { addresses: ready.sort(byAddress) }),
    ...(notReady.length > 0 && { notReadyAddresses: notReady.sort(byAddress) }),
    ...(ports.length > 0 && { ports: [...ports] }),
  }));
}

const byAddress = (left: EndpointAddress, right: EndpointAddress): number =>
  left.ip < right.ip ? -1 : left.ip > right.ip ? 1 : 0;

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
  const kept = subsets.map(({ ports }, index): EndpointSubset => {
    const [yes = [], no = []] = [ready[index], notReady[index]];
    return {
      ...(yes.length > 0 && { addresses: yes }),
      ...(no.length > 0 && { notReadyAddresses: no }),
      ...(ports !== undefined && { ports }),
    };
  });
  return {
    subsets: truncated
      ? kept.filter(({ addresses, notReadyAddresses }) => addresses !== undefined || notReadyAddresses !== undefined)
      : [...subsets],
    truncated,
  };
}
