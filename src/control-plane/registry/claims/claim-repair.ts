import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import { createLoop } from '../../../base/loop.ts';
import type { Loop } from '../../../base/loop.ts';
import type { Random } from '../../../base/random.ts';
import type { HeldClaim } from '../../model/resource-definition.ts';
import type { Storage, StoredValue } from '../../storage/storage.ts';
import { claimKey, claimsPrefix } from './store-claims.ts';

/** As often as upstream's repair of addresses and ports. */
const periodMs = 3 * 60_000;

export interface ClaimRepairOptions {
  readonly storage: Storage;
  /** All claims that objects of the cluster have, as the cache knows them. */
  readonly held: () => readonly HeldClaim[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Revisions of claims that nobody has, by key. */
type Suspects = ReadonlyMap<string, number>;

export interface ClaimRepairs {
  /** Claims that nobody has had for a whole period. */
  readonly release: readonly StoredValue[];
  /** What objects have without having claimed it: after a restore, or from before there were claims. */
  readonly take: readonly HeldClaim[];
  /** Claimed by others than who has it: two objects have one name. */
  readonly disputed: readonly HeldClaim[];
  readonly suspects: Suspects;
}

/** A server that dies between claim and write, or between deletion and release, leaves a claim that nobody has. But who has just claimed has not written yet. */
export function computeClaimRepairs(
  stored: readonly StoredValue[],
  held: readonly HeldClaim[],
  suspects: Suspects,
): ClaimRepairs {
  const owners = new Map(stored.map(({ key, value }) => [key, value]));
  const heldKeys = new Map(held.map((claim) => [claimKey(claim), claim.owner]));
  const orphans = stored.filter(({ key }) => !heldKeys.has(key));
  return {
    release: orphans.filter(({ key, revision }) => suspects.get(key) === revision),
    take: held.filter((claim) => !owners.has(claimKey(claim))),
    disputed: held.filter((claim) => (owners.get(claimKey(claim)) ?? claim.owner) !== claim.owner),
    suspects: new Map(orphans.map(({ key, revision }) => [key, revision])),
  };
}

/** Brings claims and objects together again, every few minutes. */
export function createClaimRepair({ storage, held, clock, random, log }: ClaimRepairOptions): Loop {
  let suspects: Suspects = new Map();
  const pass = async (): Promise<void> => {
    const { items } = await storage.list(claimsPrefix);
    const repairs = computeClaimRepairs(items, held(), suspects);
    suspects = repairs.suspects;
    for (const { key, value, revision } of repairs.release) {
      log.info('giving back what nobody has any longer', { key, owner: value });
      await storage.delete(key, revision);
    }
    for (const claim of repairs.take) await storage.put(claimKey(claim), claim.owner, { expected: 0 });
    for (const { owner, ...claim } of repairs.disputed)
      log.warn('two objects have the same address or port', { key: claimKey(claim), owner });
  };
  return createLoop({ name: 'claim-repair', clock, random, log, periodMs, pass });
}
