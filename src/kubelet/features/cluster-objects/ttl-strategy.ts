import type { ApiClient } from '../../../api/client/api-client.ts';
import type { ApiObject, ObjectKey, ResourceType } from '../../../api/client/resource-type.ts';
import { formatKey } from '../../../api/client/resource-type.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Loop } from '../../../base/loop.ts';
import { createLoop } from '../../../base/loop.ts';
import type { Random } from '../../../base/random.ts';
import { readObject, readOrKept } from './read-object.ts';
import { isAnswer } from './api-failure.ts';
import type { Known, ObjectStrategy, StrategySink } from './object-strategy.ts';
import { versionOf } from './slim-object.ts';

export interface TtlStrategyOptions<T extends ApiObject> {
  readonly client: ApiClient;
  readonly type: ResourceType<T>;
  /** How long an answer is valid, in milliseconds. With 0, each read makes a request (strategy Get). */
  readonly ttlMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly sink: StrategySink<T>;
}

/** The interval in which mounted files are updated, as often as upstream syncs their pods. */
const CHECK_MS = 60_000;
const CHECK_JITTER = 0.5;

interface Cached<T> {
  readonly key: ObjectKey;
  readonly users: Map<string, boolean>;
  known: Known<T>;
  /** A monotonic time in milliseconds. Older answers are outdated. */
  freshUntilMs: number;
  asking: Promise<T | undefined> | undefined;
  /** The number of the request. An answer to a request from before the newest pod is outdated. */
  round: number;
  /** Whether a caller received less than exists. */
  misled: boolean;
}

/**
 * Reads objects when a pod needs them and their last answer is too old (upstream: cache_based_manager.go). Invariants:
 * 1. A new pod makes every answer too old, because the pod must not see a state older than its creation.
 * 2. The absence of an object is never cached.
 * 3. Without an answer, the last one stays valid.
 * 4. Objects that are mounted as files are read about once a minute.
 */
export class TtlStrategy<T extends ApiObject> implements ObjectStrategy<T> {
  readonly #options: TtlStrategyOptions<T>;
  readonly #cached = new Map<string, Cached<T>>();
  readonly #checkLoop: Loop;

  constructor(options: TtlStrategyOptions<T>) {
    this.#options = options;
    const { clock, random, log, type } = options;
    this.#checkLoop = createLoop({
      name: `poll ${type.plural}`,
      clock,
      random,
      log,
      periodMs: CHECK_MS,
      jitterFactor: CHECK_JITTER,
      pass: () => this.#checkFiles(),
    });
  }

  start(): void {
    this.#checkLoop.start();
  }

  stop(): Promise<void> {
    return this.#checkLoop.stop();
  }

  use(key: ObjectKey, user: string, follows: boolean): void {
    const id = formatKey(key);
    const cached = this.#cached.get(id) ?? {
      key,
      users: new Map<string, boolean>(),
      known: { known: false },
      freshUntilMs: 0,
      asking: undefined,
      round: 0,
      misled: false,
    };
    this.#cached.set(id, cached);
    cached.users.set(user, follows);
    cached.freshUntilMs = -Infinity;
    cached.asking = undefined;
    cached.round += 1;
  }

  release(key: ObjectKey, user: string): boolean {
    const id = formatKey(key);
    const cached = this.#cached.get(id);
    cached?.users.delete(user);
    if ((cached?.users.size ?? 0) > 0) return false;
    this.#cached.delete(id);
    return true;
  }

  peek(key: ObjectKey): Known<T> {
    return this.#cached.get(formatKey(key))?.known ?? { known: false };
  }

  async get(key: ObjectKey): Promise<T | undefined> {
    const { client, type, clock, sink } = this.#options;
    const cached = this.#cached.get(formatKey(key));
    if (cached === undefined) return readOrKept({ client, type, key }, () => sink.kept(key));
    const { known } = cached;
    if (known.known && known.object !== undefined && clock.monotonicMs() < cached.freshUntilMs) return known.object;
    cached.asking ??= this.#refresh(cached, cached.round);
    return cached.asking;
  }

  async #refresh(cached: Cached<T>, round: number): Promise<T | undefined> {
    const { client, type, clock, ttlMs, sink } = this.#options;
    const { key, known: before } = cached;
    const askedMs = clock.monotonicMs();
    try {
      const object = await readObject(client, type, key);
      if (this.#cached.get(formatKey(key)) !== cached) return object;
      cached.known = { known: true, object };
      if (cached.round === round) cached.freshUntilMs = askedMs + ttlMs;
      if (!before.known || versionOf(before.object) !== versionOf(object)) {
        sink.seen(key, object);
        if (before.known || cached.misled) sink.changed(key);
      }
      cached.misled = false;
      return object;
    } catch (error) {
      cached.misled = true;
      const last = before.known ? before.object : isAnswer((error as Error).cause) ? undefined : sink.kept(key);
      if (last !== undefined) return last;
      throw error;
    } finally {
      if (cached.round === round) cached.asking = undefined;
    }
  }

  async #checkFiles(): Promise<void> {
    const shown = [...this.#cached.values()].filter(({ users }) => [...users.values()].includes(true));
    for (const { key } of shown) await this.get(key).catch(() => undefined);
  }
}
