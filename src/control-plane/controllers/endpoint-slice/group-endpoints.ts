import { nodeLabels } from '../../../api/annotations.ts';
import type { Node } from '../../../api/core/node.ts';
import type { Service } from '../../../api/core/service.ts';
import type { Endpoint, EndpointPort } from '../../../api/discovery/endpoint-slice.ts';
import { portsIn } from '../../controller-runtime/service-endpoints.ts';
import type { ServiceEndpoint } from '../../controller-runtime/service-endpoints.ts';
import type { AddressType, Group } from './plan-slices.ts';
import { isTopologyModeAuto } from './topology-mode.ts';

/** Groups the endpoints of a service by family and ports. A family without endpoints has one empty group. */
export function groupEndpoints(
  service: Service,
  endpoints: readonly ServiceEndpoint[],
  nodeOf: (name: string) => Node | undefined,
): readonly Group[] {
  const hintsOf = trafficHints(service);
  const families = service.spec.ipFamilies ?? ['IPv4'];
  return families.flatMap((family): Group[] => {
    const addressType: AddressType = family === 'IPv6' ? 'IPv6' : 'IPv4';
    const groups = new Map<string, { ports: EndpointPort[]; endpoints: Endpoint[] }>();
    for (const each of endpoints) {
      const endpoint = endpointOf(each, addressType, nodeOf);
      if (endpoint === undefined) continue;
      // A pod without any of the named ports is listed without ports (upstream: getEndpointPorts).
      const ports = [...(portsIn(each.pod, service) ?? [])];
      const key = JSON.stringify(ports);
      let group = groups.get(key);
      if (group === undefined) groups.set(key, (group = { ports, endpoints: [] }));
      const hints = hintsOf(endpoint);
      group.endpoints.push(hints === undefined ? endpoint : { ...endpoint, hints });
    }
    return groups.size === 0
      ? [{ addressType, ports: [], endpoints: [] }]
      : [...groups.values()].map((group) => ({ addressType, ...group }));
  });
}

/**
 * Returns the hints of an endpoint for the service's traffic distribution: for clients of its zone, or for clients of
 * its node and of its zone's nodes without an endpoint. An endpoint with an unknown location has no hint, and then
 * proxies ignore all hints (upstream: trafficdist ReconcileHints). The older annotation takes precedence; TopologyMode
 * sets its hints.
 */
function trafficHints(service: Service): (endpoint: Endpoint) => Endpoint['hints'] {
  const wanted = isTopologyModeAuto(service) ? undefined : service.spec.trafficDistribution;
  const forZone = ({ zone }: Endpoint): Endpoint['hints'] =>
    zone === undefined ? undefined : { forZones: [{ name: zone }] };
  switch (wanted) {
    case 'PreferClose':
    case 'PreferSameZone':
      return forZone;
    case 'PreferSameNode':
      return (endpoint) =>
        endpoint.nodeName === undefined ? undefined : { ...forZone(endpoint), forNodes: [{ name: endpoint.nodeName }] };
    default:
      return () => undefined;
  }
}

function endpointOf(
  { pod, ready, serving, terminating, hostname }: ServiceEndpoint,
  addressType: AddressType,
  nodeOf: (name: string) => Node | undefined,
): Endpoint | undefined {
  const addresses = (pod.status?.podIPs ?? [])
    .map(({ ip }) => ip)
    .filter((ip) => ip.includes(':') === (addressType === 'IPv6'));
  if (addresses.length === 0) return undefined;
  const { namespace, name, uid } = pod.metadata;
  const { nodeName } = pod.spec;
  const zone = nodeName === undefined ? undefined : nodeOf(nodeName)?.metadata.labels?.[nodeLabels.zone];
  return {
    addresses,
    conditions: { ready, serving, terminating },
    ...(hostname !== undefined && { hostname }),
    targetRef: { kind: 'Pod', namespace, name, uid },
    ...(nodeName !== undefined && { nodeName }),
    ...(zone !== undefined && { zone }),
  };
}
