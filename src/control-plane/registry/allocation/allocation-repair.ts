import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import { createLoop } from '../../../base/loop.ts';
import type { Loop } from '../../../base/loop.ts';
import type { Random } from '../../../base/random.ts';
import type { HeldAllocation } from '../../model/resource-definition.ts';
import type { Storage, StoredValue } from '../../storage/storage.ts';
import { allocationKey, ALLOCATIONS_PREFIX } from './allocation-store.ts';

/** The interval of upstream's repair of addresses and ports. */
const PERIOD_MS = 3 * 60_000;

export interface AllocationRepairOptions {
  readonly storage: Storage;
  /** Returns all allocations that the cluster's objects use, from the cache. */
  readonly held: () => readonly HeldAllocation[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** The revisions of allocations without an object, by key. */
type Suspects = ReadonlyMap<string, number>;

export interface AllocationRepairs {
  /** The allocations that had no object for a whole period. */
  readonly release: readonly StoredValue[];
  /**
   * The allocations that objects use and the store does not have: after a restore, or from before allocations existed.
   */
  readonly take: readonly HeldAllocation[];
  /** The allocations that the store has for another owner: two objects have the same name. */
  readonly disputed: readonly HeldAllocation[];
  readonly suspects: Suspects;
}

/**
 * Compares allocations and objects. A server that stops between an allocation and the write of its object, or between
 * deletion and release, leaves an allocation without an object. A new allocation has no object yet either, so one is
 * released only after a whole period.
 */
export function computeAllocationRepairs(
  stored: readonly StoredValue[],
  held: readonly HeldAllocation[],
  suspects: Suspects,
): AllocationRepairs {
  const owners = new Map(stored.map(({ key, value }) => [key, value]));
  const heldKeys = new Map(held.map((claim) => [allocationKey(claim), claim.owner]));
  const orphans = stored.filter(({ key }) => !heldKeys.has(key));
  return {
    release: orphans.filter(({ key, revision }) => suspects.get(key) === revision),
    take: held.filter((claim) => !owners.has(allocationKey(claim))),
    disputed: held.filter((claim) => (owners.get(allocationKey(claim)) ?? claim.owner) !== claim.owner),
    suspects: new Map(orphans.map(({ key, revision }) => [key, revision])),
  };
}

/** Repairs differences between allocations and objects every few minutes. */
export function createAllocationRepair({ storage, held, clock, random, log }: AllocationRepairOptions): Loop {
  let suspects: Suspects = new Map();
  const pass = async (): Promise<void> => {
    const { items } = await storage.list(ALLOCATIONS_PREFIX);
    const repairs = computeAllocationRepairs(items, held(), suspects);
    suspects = repairs.suspects;
    for (const { key, value, revision } of repairs.release) {
      log.info('releasing an unused address or port', { key, owner: value });
      await storage.delete(key, revision);
    }
    for (const claim of repairs.take) await storage.put(allocationKey(claim), claim.owner, { expected: 0 });
    for (const { owner, ...claim } of repairs.disputed)
      log.warn('two objects have the same address or port', { key: allocationKey(claim), owner });
  };
  return createLoop({ name: 'allocation-repair', clock, random, log, periodMs: PERIOD_MS, pass });
}
