import type { Clock } from '../../../base/clock.ts';
import type { Random } from '../../../base/random.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
import type { AllocationObjects, AllocationStore } from '../../model/resource-definition.ts';
import type { Storage } from '../../storage/storage.ts';

/** The prefix of allocations. Each is a key in the store: the server that creates the key owns the allocation. */
export const ALLOCATIONS_PREFIX = '/registry/ranges/';

export const allocationKey = ({ space, name }: { readonly space: string; readonly name: string }): string =>
  `${ALLOCATIONS_PREFIX}${space}/${name}`;

export interface AllocationStoreOptions {
  readonly storage: Storage;
  readonly reader: ObjectReader;
  readonly clock: Clock;
  readonly random: Random;
  readonly settings: AllocationStore['settings'];
  /** The API server's client for its own API; called only after the server is complete. */
  readonly client: () => AllocationObjects;
}

function dryObjects(client: AllocationObjects): AllocationObjects {
  return {
    get: (type, key, options) => client.get(type, key, options),
    create: (type, object) => client.create(type, object, { dryRun: true }),
    delete: () => Promise.resolve(),
  };
}

export function createAllocationStore({
  storage,
  reader,
  clock,
  random,
  settings,
  client,
}: AllocationStoreOptions): (dryRun: boolean) => AllocationStore {
  return (dryRun) => ({
    settings,
    nowMs: clock.nowMs(),
    random: () => random.next(),
    list: (type, namespace) => reader.list(type, namespace),
    async take(space, name, owner) {
      const key = allocationKey({ space, name });
      if (dryRun) {
        const there = await storage.get(key);
        return there === undefined || there.value === owner ? 'taken' : 'used';
      }
      const result = await storage.put(key, owner, { expected: 0 });
      return result.outcome === 'done' || (result.outcome === 'conflict' && result.current?.value === owner)
        ? 'taken'
        : 'used';
    },
    objects: dryRun ? dryObjects(client()) : client(),
    async release(space, name, owner, before) {
      const key = allocationKey({ space, name });
      const there = dryRun ? undefined : await storage.get(key);
      // Another server may have released it, or allocated it for another owner.
      if (there?.value !== owner) return;
      await before?.();
      await storage.delete(key, there.revision);
    },
  });
}
