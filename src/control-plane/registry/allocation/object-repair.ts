import type { Clock } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import { createLoop } from '../../../base/loop.ts';
import type { Loop } from '../../../base/loop.ts';
import type { Random } from '../../../base/random.ts';
import type { ApiClient } from '../../../api/client/api-client.ts';
import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import type { ApiObject, ResourceType } from '../../../api/client/resource-type.ts';

/** The interval of upstream's repair of addresses. */
const PERIOD_MS = 3 * 60_000;

export interface ObjectRepairOptions<T extends ApiObject> {
  readonly type: ResourceType<T>;
  readonly client: ApiClient;
  /** Returns the objects that should exist. */
  readonly wanted: () => readonly T[];
  /** Returns the existing objects of the same creator. */
  readonly actual: () => readonly T[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

export interface ObjectRepairs<T> {
  readonly create: readonly T[];
  /** The objects that were unwanted for a whole period. */
  readonly remove: readonly T[];
  /** The UIDs of unwanted objects, by key. */
  readonly suspects: ReadonlyMap<string, string>;
}

/**
 * Compares wanted and existing objects. The object that needs a new one may not be written yet, so an unwanted object
 * is removed only after a whole period.
 */
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

/**
 * Every few minutes, creates and deletes the objects that represent allocations, so that they match the allocations.
 */
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
