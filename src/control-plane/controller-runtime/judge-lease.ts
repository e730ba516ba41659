import type { Lease } from '../../api/coordination/lease.ts';

/**
 * The last observed state of a lease, and when, on this process's monotonic clock, because the holder's clock may
 * differ.
 */
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
 * Whether the lease may be acquired: this process holds it, it has no holder, or it was not renewed for its whole
 * duration since it was first observed in this state.
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
