import type { Clock } from '../../base/clock.ts';
import { errorMessage } from '../../base/errors.ts';
import { inBackground } from '../../base/background.ts';
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { ApiClient } from './api-client.ts';
import { ObjectStore } from './object-store.ts';
import type { IndexBy, ObjectIndex, ObjectLister } from './object-store.ts';
import { reflect } from './reflector.ts';
import type { FollowProblem } from './reflector.ts';
import type { ApiObject, ObjectKey, ResourceType } from './resource-type.ts';
import { formatKey, keyOf } from './resource-type.ts';

/** Called synchronously and in order, after the store has changed. Handlers should only wake other code. */
export interface InformerHandlers<T> {
  /** `initial`: the object existed before the first list, or before these handlers were added. */
  onAdd?(object: T, initial: boolean): void;
  /** Not called for a known version, nor for objects with different uids (those are a deletion and an addition). */
  onUpdate?(before: T, after: T): void;
  /** `finalStateUnknown`: the deletion event was missed; `last` is the last known state. */
  onDelete?(last: T, finalStateUnknown: boolean): void;
}

/**
 * Stores all objects of a kind and notifies handlers of each change. The objects are shared and must not be changed.
 */
export interface Informer<T extends ApiObject> extends ObjectLister<T> {
  readonly type: ResourceType<T>;
  /** Existing objects are first passed to `onAdd`. Returns the function that removes the handlers. */
  addHandlers(handlers: InformerHandlers<T>): () => void;
  /** The index with this name. `by` is only used by the first caller. */
  index(name: string, by: IndexBy<T>): ObjectIndex<T>;
  /** Whether the first list was received, and delivered to all handlers. */
  hasSynced(): boolean;
  /** Resolves when `hasSynced` is true; never if the informer is stopped before. */
  whenSynced(): Promise<void>;
}

/** Informers that share one watch per kind (upstream: SharedInformerFactory). */
export interface Informers {
  /** The informer of the kind. It starts immediately if the factory was started, otherwise with the factory. */
  for<T extends ApiObject>(type: ResourceType<T>): Informer<T>;
  start(): void;
  /** Resolves when all requested informers have their first list. */
  whenSynced(): Promise<void>;
  hasSynced(): boolean;
  /** Stops permanently; resolves when no watch is left. */
  stop(): Promise<void>;
}

export interface InformersOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Includes objects that initializers have not processed yet, if the server has initializers. */
  readonly includeUninitialized?: boolean;
  /** Which version the first list must have. Absent: any version that the server has cached, which may be old. */
  readonly startsAt?: 'newest';
}

/** An informer that is started and stopped independently. */
export interface OwnInformer<T extends ApiObject> extends Informer<T> {
  start(): void;
  stop(): Promise<void>;
  /** Why its objects may be outdated, and since when; undefined while they are up to date. */
  problem(): FollowProblem | undefined;
}

export function createInformers(options: InformersOptions): Informers {
  const informers = new Map<string, { readonly informer: LiveInformer<ApiObject>; readonly type: ResourceType }>();
  const controller = new AbortController();
  const running: Promise<void>[] = [];
  let started = false;
  const run = (type: ResourceType, informer: LiveInformer<ApiObject>): void => {
    running.push(reflect({ ...options, type, namespace: '', sink: informer }, controller.signal));
  };
  const all = (): LiveInformer<ApiObject>[] => [...informers.values()].map(({ informer }) => informer);
  return {
    for<T extends ApiObject>(type: ResourceType<T>): Informer<T> {
      const name = `${type.group}/${type.plural}`;
      let entry = informers.get(name);
      if (entry === undefined) {
        entry = { informer: new LiveInformer<ApiObject>(type, options.log), type };
        informers.set(name, entry);
        if (started) run(type, entry.informer);
      }
      // The same resource name always means the same type of objects.
      return entry.informer as unknown as Informer<T>;
    },
    start: () => {
      if (started) return;
      started = true;
      for (const { type, informer } of informers.values()) run(type, informer);
    },
    whenSynced: async () => {
      await Promise.all(all().map((informer) => informer.whenSynced()));
    },
    hasSynced: () => all().every((informer) => informer.hasSynced()),
    stop: async () => {
      controller.abort();
      await Promise.all(running);
    },
  };
}

export interface FollowOptions<T extends ApiObject> extends InformersOptions {
  readonly type: ResourceType<T>;
  /** '' follows all namespaces. */
  readonly namespace: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Transforms each object before it is stored. */
  readonly transform?: (object: T) => T;
}

/** An informer of a part of a kind (the pods of one node, say), on its own watch. */
export function createInformer<T extends ApiObject>(options: FollowOptions<T>): OwnInformer<T> {
  const controller = new AbortController();
  let running: Promise<void> | undefined;
  let problem: FollowProblem | undefined;
  const onProblem = (now: FollowProblem | undefined): void => void (problem = now);
  const informer = new LiveInformer<T>(options.type, options.log);
  return Object.assign(informer, {
    problem: () => problem,
    start: () => {
      running ??= reflect({ ...options, sink: informer, onProblem }, controller.signal);
      inBackground(options.log, `follow ${options.type.plural}`, running);
    },
    stop: async () => {
      controller.abort();
      await running;
    },
  });
}

class LiveInformer<T extends ApiObject> implements Informer<T> {
  readonly type: ResourceType<T>;
  readonly #log: Logger;
  readonly #store = new ObjectStore<T>();
  readonly #handlers = new Set<InformerHandlers<T>>();
  #synced = false;
  #markSynced: (() => void) | undefined;
  readonly #whenSynced: Promise<void>;

  constructor(type: ResourceType<T>, log: Logger) {
    this.type = type;
    this.#log = log;
    this.#whenSynced = new Promise((resolve) => (this.#markSynced = resolve));
  }

  get(key: ObjectKey): T | undefined {
    return this.#store.get(key);
  }

  getByKey(key: string): T | undefined {
    return this.#store.getByKey(key);
  }

  list(namespace = ''): readonly T[] {
    return this.#store.list(namespace);
  }

  get size(): number {
    return this.#store.size;
  }

  index(name: string, by: IndexBy<T>): ObjectIndex<T> {
    return this.#store.index(name, by);
  }

  hasSynced(): boolean {
    return this.#synced;
  }

  whenSynced(): Promise<void> {
    return this.#whenSynced;
  }

  addHandlers(handlers: InformerHandlers<T>): () => void {
    this.#handlers.add(handlers);
    for (const object of this.#store.list()) this.#notify([handlers], (each) => each.onAdd?.(object, true));
    return () => void this.#handlers.delete(handlers);
  }

  replace(items: readonly T[]): void {
    const initial = !this.#synced;
    const gone = new Set(this.#store.keys());
    for (const item of items) {
      gone.delete(formatKey(keyOf(item)));
      this.#put(item, initial);
    }
    for (const key of gone) this.#delete(key, true);
    this.#synced = true;
    this.#markSynced?.();
  }

  event(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): void {
    if (type !== 'DELETED') return this.#put(object, false);
    const known = this.#store.getByKey(formatKey(keyOf(object)));
    if (known === undefined) return;
    // The last state is part of the event, so that controllers see a pod's last status even if they missed its last
    // update.
    if (known.metadata.uid === object.metadata.uid) this.#store.put(object);
    this.#delete(formatKey(keyOf(object)), false);
  }

  #put(object: T, initial: boolean): void {
    const before = this.#store.getByKey(formatKey(keyOf(object)));
    if (before !== undefined && before.metadata.uid !== object.metadata.uid) {
      this.#delete(formatKey(keyOf(object)), true);
      this.#store.put(object);
      this.#notify(this.#handlers, (each) => each.onAdd?.(object, initial));
      return;
    }
    this.#store.put(object);
    if (before === undefined) this.#notify(this.#handlers, (each) => each.onAdd?.(object, initial));
    else if (before.metadata.resourceVersion !== object.metadata.resourceVersion)
      this.#notify(this.#handlers, (each) => each.onUpdate?.(before, object));
  }

  #delete(key: string, finalStateUnknown: boolean): void {
    const last = this.#store.delete(key);
    if (last !== undefined) this.#notify(this.#handlers, (each) => each.onDelete?.(last, finalStateUnknown));
  }

  /** An error in one handler must not affect the others. */
  #notify(handlers: Iterable<InformerHandlers<T>>, say: (handlers: InformerHandlers<T>) => void): void {
    for (const each of handlers) {
      try {
        say(each);
      } catch (error) {
        this.#log.error('A handler of object changes failed', { kind: this.type.kind, error: errorMessage(error) });
      }
    }
  }
}
