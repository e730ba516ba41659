import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { createLoop } from '../../base/loop.ts';
import type { Random } from '../../base/random.ts';
import type { Storage, StorageEvent, StorageWatch } from '../storage/storage.ts';

/** Upstream's place, so that its API servers on the same etcd and ours know of each other. */
const PREFIX = '/registry/masterleases/';
/** Upstream's times: the store forgets a server that has not renewed its key for so long (reconcilers/lease.go). */
const LEASE_SECONDS = 15;
const RENEW_MS = 10_000;

export interface ServerLeasesOptions {
  readonly storage: Storage;
  /** Where clients of the cluster reach this server. */
  readonly address: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Called when a server came or went. */
  readonly onChange: () => void;
}

export interface ServerLeases {
  /** Resolves when this server is in the store. Rejects when the store cannot be written. */
  start(): Promise<void>;
  /** Takes this server out of the store; the others learn it at once. */
  stop(): Promise<void>;
  /** Of the servers that are alive, in order. This one is always among them. */
  addresses(): readonly string[];
}

/**
 * Which API servers of one store are alive. Each keeps a key with its address; the store deletes the key of a server
 * that no longer renews it, and every server sees that as an event of its watch.
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
  /** This server's key was deleted although it is alive: it was paused for longer than its lease. */
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
    // A conflict is as good: another server behind the same address has just renewed the key.
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

/** Upstream keeps an Endpoints object there. */
const leaseText = (ip: string): string =>
  JSON.stringify({ kind: 'Endpoints', apiVersion: 'v1', metadata: {}, subsets: [{ addresses: [{ ip }] }] });
