import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { createLoop } from '../../base/loop.ts';
import type { Random } from '../../base/random.ts';
import type { Storage, StorageEvent, StorageWatch } from '../storage/storage.ts';

/** Upstream's prefix, so that its API servers and ours on the same etcd know each other. */
const PREFIX = '/registry/masterleases/';
/** The store drops a server that has not renewed its key for this time, as in upstream (reconcilers/lease.go). */
const LEASE_SECONDS = 15;
const RENEW_MS = 10_000;

export interface ServerLeasesOptions {
  readonly storage: Storage;
  /** The address at which clients of the cluster reach this server. */
  readonly address: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Called when a server was added or removed. */
  readonly onChange: () => void;
}

export interface ServerLeases {
  /** Adds this server to the store. Rejects if the store cannot be written. */
  start(): Promise<void>;
  /** Removes this server from the store. The other servers notice at once. */
  stop(): Promise<void>;
  /** Returns the sorted addresses of all running servers, including this one. */
  addresses(): readonly string[];
}

/**
 * Tracks which API servers of one store are running. Each keeps a key with its address. The store deletes the key of a
 * server that no longer renews it, and every server receives that as a watch event.
 */
export function createServerLeases(options: ServerLeasesOptions): ServerLeases {
  const followed = new FollowedServers(options);
  const loop = createLoop({
    ...options,
    name: 'lease of the API server',
    periodMs: RENEW_MS,
    pass: () => followed.renew(),
  });
  const wake = (): void => loop.wake();
  return {
    start: async () => {
      await followed.renew();
      followed.onLost = wake;
      loop.start();
    },
    stop: async () => {
      await loop.stop();
      await followed.leave();
    },
    addresses: () => followed.addresses(),
  };
}

class FollowedServers {
  readonly #options: ServerLeasesOptions;
  readonly #ownKey: string;
  readonly #keys = new Set<string>();
  #watch: StorageWatch | undefined;
  /** Called when this server's key was deleted although it is running: it was paused for longer than its lease. */
  onLost: () => void = () => undefined;

  constructor(options: ServerLeasesOptions) {
    this.#options = options;
    this.#ownKey = PREFIX + options.address;
  }

  addresses(): readonly string[] {
    const keys = new Set([...this.#keys, this.#ownKey]);
    return [...keys].map((key) => key.slice(PREFIX.length)).toSorted();
  }

  async renew(): Promise<void> {
    const { storage, address } = this.#options;
    const expected = (await storage.get(this.#ownKey))?.revision ?? 0;
    // A conflict is acceptable: another server behind the same address has just renewed the key.
    await storage.put(this.#ownKey, leaseText(address), { expected, ttlSeconds: LEASE_SECONDS });
    if (this.#watch === undefined) await this.#follow();
  }

  async leave(): Promise<void> {
    this.onLost = () => undefined;
    this.#watch?.close();
    this.#watch = undefined;
    const { storage } = this.#options;
    const own = await storage.get(this.#ownKey);
    if (own !== undefined) await storage.delete(this.#ownKey, own.revision);
  }

  async #follow(): Promise<void> {
    const { storage, onChange, log } = this.#options;
    const { items, revision } = await storage.list(PREFIX);
    this.#keys.clear();
    for (const { key } of items) this.#keys.add(key);
    this.#watch = storage.watch(
      PREFIX,
      revision,
      (events) => this.#apply(events),
      (end) => {
        log.warn('the leases of API servers are listed again', { reason: end.kind });
        this.#watch = undefined;
      },
    );
    onChange();
  }

  #apply(events: readonly StorageEvent[]): void {
    const before = this.#keys.size;
    let isChanged = false;
    for (const { type, key } of events) {
      if (type === 'put') this.#keys.add(key);
      else {
        isChanged = this.#keys.delete(key) || isChanged;
        if (key === this.#ownKey) this.onLost();
      }
    }
    if (isChanged || this.#keys.size !== before) this.#options.onChange();
  }
}

/** Builds the value, for which upstream uses an Endpoints object. */
const leaseText = (ip: string): string =>
  JSON.stringify({ kind: 'Endpoints', apiVersion: 'v1', metadata: {}, subsets: [{ addresses: [{ ip }] }] });
