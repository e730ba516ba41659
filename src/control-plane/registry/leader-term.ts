import type { Lease } from '../../api/coordination/lease.ts';
import { KubeletError } from '../../base/errors.ts';
import { formatKey } from '../../api/client/resource-type.ts';
import { ApiStatusError } from '../../api/status/api-status-error.ts';
import type { Storage, WriteGuard, WriteResult } from '../storage/storage.ts';

const PREFIX = '/registry/leaderterms/';

/**
 * The time during which one process leads, as a key of the store. Every write of the leader requires that this key
 * still has the revision of the beginning of the term.
 */
export interface LeaderTerm extends WriteGuard {
  /** The store that contains the key. It cannot guard writes to other stores (`--etcd-servers-overrides`). */
  readonly storage: Storage;
  /** Called when a write was rejected because another term has begun. */
  readonly onOver: () => void;
}

export interface TermOptions {
  readonly storage: Storage;
  /** The lease that this process wrote when it became the leader. */
  readonly lease: Lease;
  /** The store key of the lease. */
  readonly leaseKey: string;
  readonly onOver: () => void;
}

/**
 * Begins the term of the process that holds the lease. From then on the store rejects all writes of earlier terms,
 * however late they arrive: those of a paused leader, and those in flight when a leader died. So a later read of the
 * store shows everything that earlier leaders did. Rejects with `Conflict` if the lease was written again in the
 * meantime.
 */
export async function beginTerm({ storage, lease, leaseKey, onOver }: TermOptions): Promise<LeaderTerm> {
  const key = PREFIX + formatKey(lease.metadata);
  const leaseRevision = Number(lease.metadata.resourceVersion);
  const expected = (await storage.get(key))?.revision ?? 0;
  const value = `${lease.spec?.holderIdentity ?? ''} ${leaseRevision}`;
  const result = await storage.put(key, value, { expected, guard: { key: leaseKey, revision: leaseRevision } });
  if (result.outcome !== 'done')
    throw new KubeletError('Conflict', 'the lease was written again before the term began', { op: 'lead' });
  return { key, revision: result.revision, storage, onOver };
}

/** Returns the condition for a write to this store. */
export function guardOf({ storage, term }: { readonly storage: Storage; readonly term: LeaderTerm | undefined }): {
  readonly guard?: WriteGuard;
} {
  return term?.storage === storage ? { guard: { key: term.key, revision: term.revision } } : {};
}

/** Throws if the write was refused because this process no longer leads. */
export function notFenced(
  result: WriteResult,
  term: LeaderTerm | undefined,
): Exclude<WriteResult, { readonly outcome: 'fenced' }> {
  if (result.outcome !== 'fenced') return result;
  term?.onOver();
  throw new ApiStatusError('ServiceUnavailable', 'this process no longer leads: nothing was written');
}
