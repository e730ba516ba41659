import { services } from '../../../../api/client/resource-types.ts';
import type { Service, ServiceSpec } from '../../../../api/core/service.ts';
import { internalError } from '../../../../api/status/api-status-error.ts';
import type { AllocationStore } from '../../../model/resource-definition.ts';
import { candidates, reservedAddresses } from './address-range.ts';
import type { AddressRange } from './address-range.ts';
import { spaces } from './reservation.ts';
import type { Reservation } from './reservation.ts';

/** Allocates the cluster IPs of one service: those that it requests, else free ones. */
export class IpAllocator {
  readonly #service: Service;
  readonly #ranges: readonly AddressRange[];
  readonly #store: AllocationStore;
  readonly #reservation: Reservation;

  constructor(service: Service, ranges: readonly AddressRange[], store: AllocationStore, reservation: Reservation) {
    this.#service = service;
    this.#ranges = ranges;
    this.#store = store;
    this.#reservation = reservation;
  }

  async allocate({ ipFamilies = [], clusterIPs = [] }: ServiceSpec): Promise<string[]> {
    const addresses: string[] = [];
    for (const [index, family] of ipFamilies.entries()) {
      const ranges = this.#ranges.filter((each) => each.family === family);
      const wanted = clusterIPs[index] ?? '';
      if (ranges.length === 0)
        throw this.#reservation.refuse('spec.clusterIPs', clusterIPs, `${family} is not configured on this cluster`);
      if (wanted === '') addresses.push(await this.#anyAddress(ranges));
      else {
        const problem = ranges.some((range) => range.contains(wanted))
          ? await this.#reservation.take(spaces.address, wanted)
          : 'the provided network does not match the current range';
        if (problem !== undefined)
          throw this.#reservation.refuse(
            'spec.clusterIPs',
            clusterIPs,
            `failed to allocate IP ${wanted}: ${problem === 'used' ? 'provided IP is already allocated' : problem}`,
          );
        addresses.push(wanted);
      }
    }
    return addresses;
  }

  async #anyAddress(ranges: readonly AddressRange[]): Promise<string> {
    const used = new Set(this.#store.list(services, '').flatMap(({ spec }) => spec.clusterIPs ?? []));
    for (const range of ranges)
      for (const index of candidates(range.size, reservedAddresses(range.size), () => this.#store.random())) {
        const ip = range.at(index);
        if (!used.has(ip) && (await this.#reservation.take(spaces.address, ip)) === undefined) return ip;
      }
    throw internalError(
      new Error(
        `failed to allocate a serviceIP for Service ${JSON.stringify(this.#service.metadata.name)}: range is full`,
      ),
    );
  }
}
