import type { ApiClient } from '../../../api/client/api-client.ts';
import { reflect, withoutManagedFields } from '../../../api/client/reflector.ts';
import type { ApiObject, ResourceType } from '../../../api/client/resource-type.ts';
import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import { inBackground } from '../../../base/background.ts';
import type { Clock } from '../../../base/clock.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import { versionOf } from './slim-object.ts';

export interface KindCacheOptions<T extends ApiObject> {
  readonly client: ApiClient;
  readonly type: ResourceType<T>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Returns the part of an object that is kept in memory. */
  readonly slim?: (object: T) => T;
  /** Called for each changed object, with `undefined` for a deleted one. It is not called during the first list. */
  readonly changed: (key: string, object: T | undefined) => void;
  /**
   * Called when the first list is complete. `misled` means that an earlier caller did not receive all existing objects.
   */
  readonly synced: (misled: boolean) => void;
  /** Returns the objects of an earlier run, which are used while there is no answer. */
  readonly left: () => readonly T[];
}

const SYNC_LIMIT_MS = 1_000;

/**
 * Caches all objects of a kind, followed by one watch (upstream: the kubelet's shared informers). Until the first
 * answer it has the objects of an earlier run.
 */
export class KindCache<T extends ApiObject> {
  readonly #options: KindCacheOptions<T>;
  readonly #stop = new AbortController();
  readonly #waiters = new Set<() => void>();
  #objects: Map<string, T> | undefined;
  #running: Promise<void> | undefined;
  #overdue = false;

  constructor(options: KindCacheOptions<T>) {
    this.#options = options;
  }

  start(): void {
    if (this.#running !== undefined) return;
    const { client, type, clock, random, log } = this.#options;
    const sink = {
      replace: (items: readonly T[]): void => this.#replace(items),
      event: (kind: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): void => this.#event(kind, object),
    };
    this.#running = reflect({ client, type, namespace: '', clock, random, log, sink }, this.#stop.signal);
    inBackground(log, `follow ${type.plural}`, this.#running);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Waits at most one second for the first list. Rejects with Unavailable when nothing is known. */
  async get(key: string): Promise<T | undefined> {
    const found = (this.#objects ?? (await this.#known())).get(key);
    // An object that an earlier run did not cache may still exist.
    if (found === undefined && this.#objects === undefined) throw this.#unknown();
    return found;
  }

  async list(): Promise<readonly T[]> {
    return [...(this.#objects ?? (await this.#known())).values()];
  }

  /** Returns the objects, or undefined while nothing is known. */
  peek(): ReadonlyMap<string, T> | undefined {
    return this.#objects;
  }

  async #known(): Promise<ReadonlyMap<string, T>> {
    const { clock, left } = this.#options;
    const kept = left();
    if (!(this.#overdue && kept.length > 0)) {
      const { promise, resolve } = Promise.withResolvers<undefined>();
      const wake = (): void => resolve(undefined);
      this.#waiters.add(wake);
      const timer = clock.setTimer(SYNC_LIMIT_MS, wake);
      await promise;
      timer.cancel();
      this.#waiters.delete(wake);
    }
    if (this.#objects !== undefined) return this.#objects;
    this.#overdue = true;
    if (kept.length > 0) return new Map(kept.map((object) => [formatKey(keyOf(object)), object]));
    throw this.#unknown();
  }

  #unknown(): KubeletError {
    const { plural } = this.#options.type;
    return new KubeletError('Unavailable', `failed to sync ${plural} cache: timed out waiting for the condition`, {
      op: `list ${plural}`,
    });
  }

  #replace(items: readonly T[]): void {
    const before = this.#objects;
    const next = new Map(items.map((item) => [formatKey(keyOf(item)), this.#slim(item)]));
    this.#objects = next;
    if (before === undefined) {
      this.#options.synced(this.#overdue);
      for (const wake of [...this.#waiters]) wake();
      return;
    }
    for (const key of new Set([...before.keys(), ...next.keys()]))
      if (versionOf(before.get(key)) !== versionOf(next.get(key))) this.#options.changed(key, next.get(key));
  }

  #event(kind: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): void {
    const key = formatKey(keyOf(object));
    const before = this.#objects?.get(key);
    const after = kind === 'DELETED' ? undefined : this.#slim(object);
    if (after === undefined) this.#objects?.delete(key);
    else this.#objects?.set(key, after);
    if (versionOf(before) !== versionOf(after)) this.#options.changed(key, after);
  }

  #slim(object: T): T {
    return this.#options.slim?.(object) ?? withoutManagedFields(object);
  }
}
