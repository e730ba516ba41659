import type { EndpointAddress, EndpointSubset } from '../../../../api/core/endpoints.ts';
import type { Service } from '../../../../api/core/service.ts';
import type { ServiceEndpoint } from '../../../controller-runtime/service-endpoints.ts';
import { listedAddress } from '../address-groups.ts';
import type { ListedAddress } from '../address-groups.ts';

/** Computes the subsets from all endpoints of a service at once. */
export function computeSubsets(service: Service, endpoints: readonly ServiceEndpoint[]): EndpointSubset[] {
  const listed = endpoints.flatMap((endpoint) => listedAddress(service, endpoint) ?? []);
  const keys = [...new Set(listed.map(({ group }) => group))].sort();
  return keys.map((key) => {
    const members = listed.filter(({ group }) => group === key);
    const [ready, notReady] = [sorted(members, true), sorted(members, false)];
    const ports = members[0]?.ports ?? [];
    return {
      ...(ready.length > 0 && { addresses: ready }),
      ...(notReady.length > 0 && { notReadyAddresses: notReady }),
      ...(ports.length > 0 && { ports: [...ports] }),
    };
  });
}

function sorted(members: readonly ListedAddress[], wanted: boolean): EndpointAddress[] {
  const place = ({ ip, targetRef }: EndpointAddress): string => `${ip} ${targetRef?.name}`;
  return members
    .filter(({ ready }) => ready === wanted)
    .map(({ address }) => address)
    .sort((left, right) => (place(left) < place(right) ? -1 : 1));
}
