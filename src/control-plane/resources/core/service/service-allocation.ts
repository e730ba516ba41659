import { serviceCidrs } from '../../../../api/client/resource-types.ts';
import type { Service, ServiceSpec } from '../../../../api/core/service.ts';
import type { IPAddress } from '../../../../api/networking/ip-address.ts';
import { isReadyRange, newServiceAddress } from '../../../../api/networking/service-address.ts';
import { DEFAULT_SERVICE_CIDR_NAME } from '../../../../api/networking/service-cidr.ts';
import type { Allocated, AllocationStore, HeldAllocation } from '../../../model/resource-definition.ts';
import { parseAddressRange } from './address-range.ts';
import type { AddressRange } from './address-range.ts';
import { IpAllocator } from './ip-allocator.ts';
import { PortAllocator } from './port-allocator.ts';
import { holdingsOf, ownerOf, releaseName, Reservation, spaces } from './reservation.ts';
import { computeFamilies } from './service-families.ts';
import { isHeadless, needsAddress, needsHealthPort, needsPorts } from './service-rules.ts';

/*
 * Addresses and node ports of services. Each is allocated in the store under its own key before the service is written,
 * so that two API servers cannot allocate it twice. If the write fails, its new allocations are released; if it
 * succeeds, those that the service no longer uses.
 */

export async function allocateService(
  service: Service,
  old: Service | undefined,
  store: AllocationStore,
): Promise<Allocated<Service>> {
  const reservation = new Reservation(service, old, store);
  try {
    const object = await complete(service, old, store, reservation);
    return { object, settle: (stored) => (stored ? reservation.releaseUnused(object) : reservation.releaseTaken()) };
  } catch (error) {
    await reservation.releaseTaken();
    throw error;
  }
}

/** Returns everything that a service has allocated in the store. */
export function allocationsOfService(service: Service): readonly HeldAllocation[] {
  const holdings = holdingsOf(service);
  const owner = ownerOf(service);
  return Object.values(spaces).flatMap((space) => [...holdings[space]].map((name) => ({ space, name, owner })));
}

/** Returns the IPAddresses that represent the cluster IPs of a service. */
export const addressesOfService = (service: Service): readonly IPAddress[] =>
  [...holdingsOf(service).serviceips].map((ip) => newServiceAddress(ip, service.metadata));

export async function deallocateService(service: Service, store: AllocationStore): Promise<void> {
  for (const held of allocationsOfService(service)) await releaseName(store, service, held);
}

async function complete(
  service: Service,
  old: Service | undefined,
  store: AllocationStore,
  reservation: Reservation,
): Promise<Service> {
  const ranges = store.settings.serviceCidrs.map(parseAddressRange);
  const families = needsAddress(service)
    ? computeFamilies(
        service,
        old,
        ranges.map(({ family }) => family),
      )
    : {};
  const spec: ServiceSpec = { ...service.spec, ...families };
  if (needsAddress(service) && !isHeadless(service)) {
    spec.clusterIPs = await new IpAllocator(service, [...ranges, ...moreRanges(store)], store, reservation).allocate(
      spec,
    );
    spec.clusterIP = spec.clusterIPs[0];
  }
  const ports = new PortAllocator(service, store, reservation);
  if (needsPorts(service)) spec.ports = await ports.allocate(spec);
  if (needsHealthPort(service))
    spec.healthCheckNodePort = await ports.allocateHealthPort(spec.healthCheckNodePort ?? 0);
  return { ...service, spec };
}

/** Returns the ranges of ServiceCIDRs. That of the flags has its own object and comes before them. */
function moreRanges(store: AllocationStore): AddressRange[] {
  return store
    .list(serviceCidrs, '')
    .filter((cidr) => cidr.metadata.name !== DEFAULT_SERVICE_CIDR_NAME && isReadyRange(cidr))
    .flatMap(({ spec }) => (spec.cidrs ?? []).map(parseAddressRange));
}
