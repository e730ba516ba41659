import type { Clock } from '../../../base/clock.ts';
import type { Random } from '../../../base/random.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
import type { Claims } from '../../model/resource-definition.ts';
import type { Storage } from '../../storage/storage.ts';

/** Claims are keys of their own in the store: whoever makes the key has the name. */
export const claimsPrefix = '/registry/ranges/';

export const claimKey = ({ space, name }: { readonly space: string; readonly name: string }): string =>
  `${claimsPrefix}${space}/${name}`;

export interface StoreClaimsOptions {
  readonly storage: Storage;
  readonly reader: ObjectReader;
  readonly clock: Clock;
  readonly random: Random;
  readonly settings: Claims['settings'];
}

export function createStoreClaims({
  storage,
  reader,
  clock,
  random,
  settings,
}: StoreClaimsOptions): (dryRun: boolean) => Claims {
  return (dryRun) => ({
    settings,
    nowMs: clock.nowMs(),
    random: () => random.next(),
    list: (type, namespace) => reader.list(type, namespace),
    async take(space, name, owner) {
      const key = claimKey({ space, name });
      if (dryRun) {
        const there = await storage.get(key);
        return there === undefined || there.value === owner ? 'taken' : 'used';
      }
      const result = await storage.put(key, owner, { expected: 0 });
      return result.outcome === 'done' || result.current?.value === owner ? 'taken' : 'used';
    },
    async release(space, name, owner) {
      const key = claimKey({ space, name });
      const there = dryRun ? undefined : await storage.get(key);
      // Whoever was faster has given it back, or to somebody else.
      if (there?.value === owner) await storage.delete(key, there.revision);
    },
  });
}
