import type { Lease } from '../../api/coordination/lease.ts';

/** What was last seen of a lease, and when, by this process's own monotonic clock: its holder's clock may be any. */
export interface ObservedLease {
  readonly resourceVersion: string;
  readonly atMs: number;
}

export interface LeaseQuestion {
  readonly identity: string;
  readonly observed: ObservedLease | undefined;
  readonly nowMs: number;
}

const DEFAULT_SECONDS = 15;

/**
 * Whether the lease may be taken: it is one's own, has no holder, or was not renewed for as long as it lasts, since one
 * first saw it so.
 */
export function judgeLease(
  lease: Lease,
  { identity, observed, nowMs }: LeaseQuestion,
): { readonly observed: ObservedLease; readonly verdict: 'take' | 'wait' } {
  const { resourceVersion = '' } = lease.metadata;
  const seen = observed?.resourceVersion === resourceVersion ? observed : { resourceVersion, atMs: nowMs };
  const { holderIdentity = '', leaseDurationSeconds = DEFAULT_SECONDS } = lease.spec ?? {};
  const free = holderIdentity === '' || holderIdentity === identity || nowMs - seen.atMs >= leaseDurationSeconds * 1000;
  return { observed: seen, verdict: free ? 'take' : 'wait' };
}
