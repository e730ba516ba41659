import type { ApiObject, ResourceType } from '../../../api/client/resource-type.ts';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import type { ServiceCIDR } from '../../../api/networking/service-cidr.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import type { Service } from '../../../api/core/service.ts';
import type { AllocationStore } from '../../model/resource-definition.ts';
import { nowMs } from './rules-fixture.ts';

/** Allocations in memory, shared by any number of API servers. */
export class FakeAllocationStore implements AllocationStore {
  readonly settings: AllocationStore['settings'];
  readonly nowMs = nowMs;
  /** Owners by `space/name`. */
  readonly held = new Map<string, string>();
  /** The content of the cache, which may be outdated. */
  cached: readonly Service[] = [];
  ranges: readonly ServiceCIDR[] = [];
  /** Stores the IPAddresses. */
  readonly objects = new FakeApiClient({ clock: new FakeClock() });
  next = 0;

  constructor(serviceCidrs: readonly string[] = ['10.96.0.0/24'], nodePorts = { first: 30_000, last: 30_099 }) {
    this.settings = { serviceCidrs, nodePorts };
  }

  random(): number {
    return this.next;
  }

  list<U extends ApiObject>(type: ResourceType<U>): readonly U[] {
    // The only kinds that are asked for.
    return (type.plural === 'services' ? this.cached : this.ranges) as readonly ApiObject[] as readonly U[];
  }

  take(space: string, name: string, owner: string): Promise<'taken' | 'used'> {
    const key = `${space}/${name}`;
    const holder = this.held.get(key);
    if (holder === undefined) this.held.set(key, owner);
    return Promise.resolve(holder === undefined || holder === owner ? 'taken' : 'used');
  }

  async release(space: string, name: string, owner: string, before?: () => Promise<void>): Promise<void> {
    if (this.held.get(`${space}/${name}`) !== owner) return;
    await before?.();
    this.held.delete(`${space}/${name}`);
  }
}
