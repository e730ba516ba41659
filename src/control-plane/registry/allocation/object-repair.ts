import type { Clock } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import { createLoop } from '../../../base/loop.ts';
import type { Loop } from '../../../base/loop.ts';
import type { Random } from '../../../base/random.ts';
import type { ApiClient } from '../../../api/client/api-client.ts';
import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import type { ApiObject, ResourceType } from '../../../api/client/resource-type.ts';

/** As often as upstream's repair of addresses. */
const PERIOD_MS = 3 * 60_000;

export interface ObjectRepairOptions<T extends ApiObject> {
  readonly type: ResourceType<T>;
  readonly client: ApiClient;
  /** Those that the cluster should have. */
  readonly wanted: () => readonly T[];
  /** Those that it has, of the same maker. */
  readonly actual: () => readonly T[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

export interface ObjectRepairs<T> {
  readonly create: readonly T[];
  /** Wanted by nothing for a whole period. */
  readonly remove: readonly T[];
  /** Uids of those that nothing wants, by key. */
  readonly suspects: ReadonlyMap<string, string>;
}

/** An object that was just made is wanted by what is not written yet: one period has to pass before it is removed. */
export function computeObjectRepairs<T extends ApiObject>(
  wanted: readonly T[],
  actual: readonly T[],
  suspects: ReadonlyMap<string, string>,
): ObjectRepairs<T> {
  const there = new Set(actual.map((object) => formatKey(keyOf(object))));
  const needed = new Set(wanted.map((object) => formatKey(keyOf(object))));
  const idle = actual.filter((object) => !needed.has(formatKey(keyOf(object))));
  return {
    create: wanted.filter((object) => !there.has(formatKey(keyOf(object)))),
    remove: idle.filter((object) => suspects.get(formatKey(keyOf(object))) === object.metadata.uid),
    suspects: new Map(idle.map((object) => [formatKey(keyOf(object)), object.metadata.uid])),
  };
}

/** Makes the objects that stand for allocations agree with those that have them, every few minutes. */
export function createObjectRepair<T extends ApiObject>(options: ObjectRepairOptions<T>): Loop {
  const { type, client, wanted, actual, log } = options;
  let suspects: ReadonlyMap<string, string> = new Map();
  const attempt = async (object: T, what: string, work: () => Promise<unknown>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      log.debug(2, what, { key: formatKey(keyOf(object)), error: errorMessage(error) });
    }
  };
  const pass = async (): Promise<void> => {
    const repairs = computeObjectRepairs(wanted(), actual(), suspects);
    suspects = repairs.suspects;
    for (const object of repairs.create)
      await attempt(object, 'an allocation was not recorded', () => client.create(type, object));
    for (const object of repairs.remove) {
      const { uid } = object.metadata;
      await attempt(object, 'an unused allocation was not removed', () =>
        client.delete(type, keyOf(object), { preconditions: { uid } }),
      );
    }
  };
  return createLoop({ ...options, name: `${type.plural}-repair`, periodMs: PERIOD_MS, pass });
}
