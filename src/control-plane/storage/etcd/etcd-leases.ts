import type { Clock } from '../../../base/clock.ts';
import type { EtcdClient } from './etcd-client.ts';

/** The maximum number of keys per lease, because etcd deletes them all at once (upstream: leaseMaxObjectCount). */
const KEYS_PER_LEASE = 1000;
/**
 * How much longer than requested keys may live so that they share a lease: a twentieth, at most a minute (upstream:
 * lease_manager.go).
 */
const SHARED_FRACTION = 0.05;
const SHARED_SECONDS = 60;

interface SharedLease {
  readonly id: Promise<bigint>;
  /** The monotonic time until which keys with this lifetime may join the lease. */
  readonly joinUntilMs: number;
  keys: number;
}

/**
 * Shares one lease between keys with the same lifetime that are written within some time, because etcd's cost depends
 * on the number of leases.
 */
export class EtcdLeases {
  readonly #client: EtcdClient;
  readonly #clock: Clock;
  readonly #shared = new Map<number, SharedLease>();

  constructor(client: EtcdClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** Returns a lease that lives at least `ttlSeconds` from now. */
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

  /** Drops a lease that etcd does not know. The next key gets a new one. */
  forget(ttlSeconds: number): void {
    this.#shared.delete(ttlSeconds);
  }

  #grant(ttlSeconds: number, nowMs: number): Promise<bigint> {
    const spareSeconds = Math.min(SHARED_SECONDS, Math.ceil(ttlSeconds * SHARED_FRACTION));
    const id = this.#client.lease.leaseGrant({ TTL: Math.ceil(ttlSeconds) + spareSeconds }).then(({ ID }) => ID);
    const lease: SharedLease = { id, joinUntilMs: nowMs + spareSeconds * 1000, keys: 1 };
    this.#shared.set(ttlSeconds, lease);
    id.catch(() => {
      // The caller gets the error, and the next call tries again.
      if (this.#shared.get(ttlSeconds) === lease) this.#shared.delete(ttlSeconds);
    });
    return id;
  }
}
