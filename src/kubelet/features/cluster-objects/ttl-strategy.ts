import type { ApiClient } from '../../../api/client/api-client.ts';
import { formatKey, type ApiObject, type ObjectKey, type ResourceType } from '../../../api/client/resource-type.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import { createLoop, type Loop } from '../../../base/loop.ts';
import type { Random } from '../../../base/random.ts';
import { askApi, askOrKept } from './ask-api.ts';
import { isAnswer } from './api-failure.ts';
import type { Known, ObjectStrategy, StrategySink } from './object-strategy.ts';
import { versionOf } from './slim-object.ts';

export interface TtlStrategyOptions<T extends ApiObject> {
  readonly client: ApiClient;
  readonly type: ResourceType<T>;
  /** How long an answer is good. 0: each is asked for anew (strategy Get). */
  readonly ttlMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly sink: StrategySink<T>;
}

/** How often files are brought up to date: upstream's pods are synced so often. */
const LOOK_MS = 60_000;
const LOOK_JITTER = 0.5;

interface Cached<T> {
  readonly key: ObjectKey;
  readonly users: Map<string, boolean>;
  known: Known<T>;
  /** Monotonic; an answer from before this is no good. */
  freshUntilMs: number;
  asking: Promise<T | undefined> | undefined;
  /** Of askings: the answer to one from before the newest pod came is not good for long. */
  round: number;
  /** Somebody was told less than the truth. */
  misled: boolean;
}

/**
 * Objects that pods use, asked for when they are needed and their last answer is too old (upstream: cache_based_manager.go).
 * 1. A pod that comes makes every answer too old: it must not see less than was there when it was made.
 * 2. That an object is missing is never remembered.
 * 3. When nobody answers, the last answer goes on counting.
 * 4. What is shown as files is asked for every minute or so.
 */
export class TtlStrategy<T extends ApiObject> implements ObjectStrategy<T> {
  readonly #options: TtlStrategyOptions<T>;
  readonly #cached = new Map<string, Cached<T>>();
  readonly #look: Loop;

  constructor(options: TtlStrategyOptions<T>) {
    this.#options = options;
    const { clock, random, log, type } = options;
    this.#look = createLoop({
      name: `look at ${type.plural}`,
      clock,
      random,
      log,
      periodMs: LOOK_MS,
      jitterFactor: LOOK_JITTER,
      pass: () => this.#lookAtFiles(),
    });
  }

  start(): void {
    this.#look.start();
  }

  stop(): Promise<void> {
    return this.#look.stop();
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
    if (cached === undefined) return askOrKept({ client, type, key }, () => sink.kept(key));
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
      const object = await askApi(client, type, key);
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

  async #lookAtFiles(): Promise<void> {
    const shown = [...this.#cached.values()].filter(({ users }) => [...users.values()].includes(true));
    for (const { key } of shown) await this.get(key).catch(() => undefined);
  }
}
