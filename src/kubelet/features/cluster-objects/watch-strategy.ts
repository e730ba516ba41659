import { fieldEquals } from '../../../api/selectors.ts';
import type { ApiClient } from '../../../api/client/api-client.ts';
import { reflect, withoutManagedFields } from '../../../api/client/reflector.ts';
import type { ApiObject, ObjectKey, ResourceType } from '../../../api/client/resource-type.ts';
import { formatKey } from '../../../api/client/resource-type.ts';
import { inBackground } from '../../../base/background.ts';
import type { Clock } from '../../../base/clock.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Loop } from '../../../base/loop.ts';
import { createLoop } from '../../../base/loop.ts';
import type { Random } from '../../../base/random.ts';
import { readOrKept } from './read-object.ts';
import type { Known, ObjectStrategy, StrategySink } from './object-strategy.ts';
import { versionOf } from './slim-object.ts';

export interface WatchStrategyOptions<T extends ApiObject> {
  readonly client: ApiClient;
  readonly type: ResourceType<T>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly sink: StrategySink<T>;
}

/** How long a reader waits for the first answer (upstream: watch_based_manager.go Get). */
const SYNC_LIMIT_MS = 1_000;
/**
 * How long an unread object is watched (upstream: five times the resync interval of a minute). Objects mounted as files
 * are never idle.
 */
const IDLE_MS = 5 * 60_000;
const IDLE_LOOK_MS = 60_000;

/** asleep ──(a read)──► syncing ──► following ──(idle, or immutable)──► asleep */
type Phase<T> =
  | { readonly name: 'syncing'; readonly last: Known<T> }
  | { readonly name: 'following'; readonly object: T | undefined }
  /** The object is not watched. A cached immutable object stays valid, and any other object is read again. */
  | { readonly name: 'asleep'; readonly last: T | undefined; readonly settled: boolean };

interface Watched<T> {
  readonly key: ObjectKey;
  /** Whether each user mounts the object as files. */
  readonly users: Map<string, boolean>;
  phase: Phase<T>;
  usedMs: number;
  /** Whether the last wait ended without an answer. */
  overdue: boolean;
  stop: AbortController;
  readonly waiters: Set<() => void>;
}

/**
 * Follows each object that pods of this node use by one watch (upstream: watch_based_manager.go). A node may not read
 * other objects. Invariants:
 * 1. A watch lasts from the first user to the last. The watch of an immutable object ends as soon as the agent has read
 *    it.
 * 2. `get` waits at most one second for the first answer. Then it returns the cached object, or rejects with
 *    Unavailable. `changed` notifies callers that received less than exists.
 * 3. Known objects stay known during an outage.
 */
export class WatchStrategy<T extends ApiObject> implements ObjectStrategy<T> {
  readonly #options: WatchStrategyOptions<T>;
  readonly #watched = new Map<string, Watched<T>>();
  readonly #idle: Loop;
  readonly #running = new Set<Promise<void>>();
  #stopped = false;

  constructor(options: WatchStrategyOptions<T>) {
    this.#options = options;
    const { clock, random, log, type } = options;
    this.#idle = createLoop({
      name: `idle watches of ${type.plural}`,
      clock,
      random,
      log,
      periodMs: IDLE_LOOK_MS,
      pass: () => this.#endIdle(),
    });
  }

  start(): void {
    this.#idle.start();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const watched of this.#watched.values()) watched.stop.abort();
    await this.#idle.stop();
    await Promise.all(this.#running);
  }

  use(key: ObjectKey, user: string, follows: boolean): void {
    const id = formatKey(key);
    const known = this.#watched.get(id);
    if (known !== undefined) {
      known.users.set(user, follows);
      if (follows && known.phase.name === 'asleep' && !known.phase.settled) this.#watch(known);
      return;
    }
    const watched: Watched<T> = {
      key,
      users: new Map([[user, follows]]),
      phase: { name: 'syncing', last: { known: false } },
      usedMs: this.#options.clock.monotonicMs(),
      overdue: false,
      stop: new AbortController(),
      waiters: new Set(),
    };
    this.#watched.set(id, watched);
    this.#watch(watched);
  }

  release(key: ObjectKey, user: string): boolean {
    const id = formatKey(key);
    const watched = this.#watched.get(id);
    if (watched === undefined) return true;
    watched.users.delete(user);
    if (watched.users.size > 0) return false;
    this.#watched.delete(id);
    watched.stop.abort();
    for (const wake of [...watched.waiters]) wake();
    return true;
  }

  peek(key: ObjectKey): Known<T> {
    const phase = this.#watched.get(formatKey(key))?.phase;
    if (phase === undefined) return { known: false };
    if (phase.name === 'syncing') return phase.last;
    return { known: true, object: phase.name === 'following' ? phase.object : phase.last };
  }

  async get(key: ObjectKey): Promise<T | undefined> {
    const watched = this.#watched.get(formatKey(key));
    const { client, type, sink } = this.#options;
    // An object that no pod names, for example the secret of a driver, is read and not followed.
    if (watched === undefined) return readOrKept({ client, type, key }, () => sink.kept(key));
    watched.usedMs = this.#options.clock.monotonicMs();
    if (watched.phase.name === 'asleep' && !watched.phase.settled) this.#watch(watched);
    if (watched.phase.name === 'syncing' && !(watched.overdue && sink.kept(key) !== undefined))
      await this.#whenSynced(watched);
    const { phase } = watched;
    if (phase.name !== 'syncing') return phase.name === 'following' ? phase.object : phase.last;
    watched.overdue = true;
    if (phase.last.known) return phase.last.object;
    const left = sink.kept(key);
    if (left !== undefined) return left;
    throw new KubeletError(
      'Unavailable',
      `failed to sync ${type.kind.toLowerCase()} cache: timed out waiting for the condition`,
      { op: `get ${type.plural}` },
    );
  }

  async #whenSynced(watched: Watched<T>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const wake = (): void => resolve(undefined);
    watched.waiters.add(wake);
    const timer = this.#options.clock.setTimer(SYNC_LIMIT_MS, wake);
    await promise;
    timer.cancel();
    watched.waiters.delete(wake);
  }

  #watch(watched: Watched<T>): void {
    if (this.#stopped) return;
    const { phase } = watched;
    if (phase.name === 'asleep') watched.phase = { name: 'syncing', last: { known: true, object: phase.last } };
    const stop = new AbortController();
    watched.stop = stop;
    const { client, type, clock, random, log } = this.#options;
    const sink = {
      replace: (items: readonly T[]): void =>
        this.#learned(
          watched,
          stop,
          items.find(({ metadata }) => metadata.name === watched.key.name),
        ),
      event: (kind: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): void => {
        if (object.metadata.name === watched.key.name)
          this.#learned(watched, stop, kind === 'DELETED' ? undefined : object);
      },
    };
    const running = reflect(
      {
        client,
        type,
        namespace: watched.key.namespace,
        fieldSelector: fieldEquals('metadata.name', watched.key.name),
        clock,
        random,
        log,
        sink,
      },
      stop.signal,
    ).finally(() => this.#running.delete(running));
    this.#running.add(running);
    inBackground(log, `follow ${type.plural}`, running);
  }

  #learned(watched: Watched<T>, stop: AbortController, found: T | undefined): void {
    if (stop.signal.aborted || watched.stop !== stop) return;
    const object = found === undefined ? undefined : withoutManagedFields(found);
    const before = this.peek(watched.key);
    // Callers that still wait receive the answer directly.
    const misled = before.known || watched.overdue;
    watched.overdue = false;
    if (object !== undefined && isImmutable(object)) {
      watched.phase = { name: 'asleep', last: object, settled: true };
      stop.abort();
    } else watched.phase = { name: 'following', object };
    if (!before.known || versionOf(before.object) !== versionOf(object)) {
      this.#options.sink.seen(watched.key, object);
      if (misled) this.#options.sink.changed(watched.key);
    }
    for (const wake of [...watched.waiters]) wake();
  }

  #endIdle(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const watched of this.#watched.values()) {
      const { phase, users, usedMs } = watched;
      if (phase.name !== 'following' || nowMs - usedMs <= IDLE_MS || [...users.values()].includes(true)) continue;
      watched.stop.abort();
      watched.phase = { name: 'asleep', last: phase.object, settled: false };
    }
  }
}

const isImmutable = (object: ApiObject): boolean => 'immutable' in object && object.immutable === true;
