import type { Clock } from '../../../base/clock.ts';
import type { EtcdClient } from './etcd-client.ts';

/** Keys on one lease at most: etcd deletes them in one go (upstream: leaseMaxObjectCount). */
const KEYS_PER_LEASE = 1000;
/**
 * How much longer than asked keys may live so that they can share a lease: a twentieth, a minute at most (upstream:
 * lease_manager.go).
 */
const SHARED_FRACTION = 0.05;
const SHARED_SECONDS = 60;

interface SharedLease {
  readonly id: Promise<bigint>;
  /** On the monotonic clock: until when keys of this time to live may still join. */
  readonly joinUntilMs: number;
  keys: number;
}

/**
 * One lease for all keys of the same time to live that are written within a while, because etcd pays for each lease and
 * not for the keys on it.
 */
export class EtcdLeases {
  readonly #client: EtcdClient;
  readonly #clock: Clock;
  readonly #shared = new Map<number, SharedLease>();

  constructor(client: EtcdClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** A lease that lives at least `ttlSeconds` from now. */
  leaseFor(ttlSeconds: number): Promise<bigint> {
    const nowMs = this.#clock.monotonicMs();
    for (const [ttl, { joinUntilMs }] of this.#shared) if (joinUntilMs < nowMs) this.#shared.delete(ttl);
    const shared = this.#shared.get(ttlSeconds);
    if (shared !== undefined && shared.keys < KEYS_PER_LEASE) {
      shared.keys++;
      return shared.id;
    }
    return this.#grant(ttlSeconds, nowMs);
  }

  /** After etcd said that it does not know a lease: the next key gets a new one. */
  forget(ttlSeconds: number): void {
    this.#shared.delete(ttlSeconds);
  }

  #grant(ttlSeconds: number, nowMs: number): Promise<bigint> {
    const spareSeconds = Math.min(SHARED_SECONDS, Math.ceil(ttlSeconds * SHARED_FRACTION));
    const id = this.#client.lease.leaseGrant({ TTL: Math.ceil(ttlSeconds) + spareSeconds }).then(({ ID }) => ID);
    const lease: SharedLease = { id, joinUntilMs: nowMs + spareSeconds * 1000, keys: 1 };
    this.#shared.set(ttlSeconds, lease);
    id.catch(() => {
      // The caller gets the error; the next call tries again.
      if (this.#shared.get(ttlSeconds) === lease) this.#shared.delete(ttlSeconds);
    });
    return id;
  }
}
