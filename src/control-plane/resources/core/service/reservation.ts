import { invalid } from '../../../../api/status/api-status-error.ts';
import type { ApiStatusError } from '../../../../api/status/api-status-error.ts';
import type { Service } from '../../../../api/core/service.ts';
import { FieldErrors } from '../../../../api/validation/field-error.ts';
import type { AllocationStore, HeldAllocation } from '../../../model/resource-definition.ts';
import { forgetAddress, recordAddress } from './service-addresses.ts';

export const spaces = { address: 'serviceips', port: 'servicenodeports' } as const;
export type Space = (typeof spaces)[keyof typeof spaces];

/** The names of a service in both spaces. */
export interface Holdings {
  readonly serviceips: ReadonlySet<string>;
  readonly servicenodeports: ReadonlySet<string>;
}

export function holdingsOf(service: Service | undefined): Holdings {
  const { clusterIPs = [], ports = [], healthCheckNodePort = 0 } = service?.spec ?? {};
  const numbers = [...ports.map(({ nodePort = 0 }) => nodePort), healthCheckNodePort].filter((port) => port !== 0);
  return {
    serviceips: new Set(clusterIPs.filter((ip) => ip !== 'None' && ip !== '')),
    servicenodeports: new Set(numbers.map(String)),
  };
}

/** Includes the UID, so that a new service does not own the allocations of a deleted one of the same name. */
export const ownerOf = ({ metadata: { namespace, name, uid } }: Service): string => `${namespace}/${name}/${uid}`;

/** An address is released together with its IPAddress. */
export function releaseName(
  store: AllocationStore,
  { metadata }: Service,
  { space, name, owner }: HeldAllocation,
): Promise<void> {
  const before = space === spaces.address ? () => forgetAddress(name, metadata, store) : undefined;
  return store.release(space, name, owner, before);
}

/** The allocations of one write of a service, and those that the service had before. */
export class Reservation {
  readonly before: Holdings;
  readonly taken: Readonly<Record<Space, Set<string>>> = { serviceips: new Set(), servicenodeports: new Set() };
  readonly #service: Service;
  readonly #owner: string;
  readonly #store: AllocationStore;

  constructor(service: Service, old: Service | undefined, store: AllocationStore) {
    this.#service = service;
    this.#owner = ownerOf(service);
    this.before = holdingsOf(old);
    this.#store = store;
  }

  /**
   * Allocates a name. Returns undefined on success. A name that the service already has, or that this write has
   * allocated, is not allocated again.
   */
  async take(space: Space, name: string): Promise<'used' | undefined> {
    if (this.before[space].has(name) || this.taken[space].has(name)) return undefined;
    if ((await this.#store.take(space, name, this.#owner)) === 'used') return 'used';
    this.taken[space].add(name);
    if (space !== spaces.address || (await recordAddress(name, this.#service, this.#store)) === undefined)
      return undefined;
    // Reserved by an IPAddress without a service.
    this.taken[space].delete(name);
    await this.#store.release(space, name, this.#owner);
    return 'used';
  }

  async #release(space: Space, name: string): Promise<void> {
    await releaseName(this.#store, this.#service, { space, name, owner: this.#owner });
  }

  async releaseTaken(): Promise<void> {
    for (const space of Object.values(spaces)) for (const name of this.taken[space]) await this.#release(space, name);
  }

  async releaseUnused(stored: Service): Promise<void> {
    const now = holdingsOf(stored);
    for (const space of Object.values(spaces)) {
      for (const name of this.before[space]) if (!now[space].has(name)) await this.#release(space, name);
    }
  }

  refuse(field: string, value: unknown, why: string): ApiStatusError {
    const errors = new FieldErrors();
    errors.invalid(field, value, why);
    return invalid({ group: '', kind: 'Service' }, this.#service.metadata.name, errors.list);
  }
}
