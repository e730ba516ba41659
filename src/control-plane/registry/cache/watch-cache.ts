import { sleep, withDeadline } from '../../../base/clock.ts';
import type { Clock } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import { ApiStatusError, expired } from '../../../api/status/api-status-error.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import type { Storage, StorageEvent, StorageWatch, StorageWatchEnd, StoredValue } from '../../storage/storage.ts';
import type { DefinitionsChange } from '../../model/definitions.ts';
import { isStored, REGISTRY_PREFIX, storagePrefix } from '../definition-index.ts';
import type { DefinitionIndex } from '../definition-index.ts';
import { EventWindow } from './event-window.ts';
import type { CacheEvent } from './event-window.ts';
import { ListSnapshots } from './list-snapshots.ts';
import { NewestTexts } from './newest-texts.ts';
import { ObjectList } from './object-list.ts';
import { CachedObject, fromStored, withVersion } from './stored-form.ts';

/**
 * The number of changes of one kind that a watch may be behind and still resume (upstream: at least 100, growing under
 * load).
 */
const WINDOW_LENGTH = 1024;
/** The time that a request waits for a version that the cache has not reached (upstream: 3 s). */
const FUTURE_VERSION_WAIT_MS = 3000;
const RETRY_MS = 500;
const PAGE_LENGTH = 1000;

/** The cached objects and changes of one kind. */
export interface KindCache {
  readonly definition: ResourceDefinition;
  readonly objects: ObjectList;
  readonly window: EventWindow;
  /** The revision of the newest change of this kind. */
  lastChange: number;
  readonly listeners: Set<(event: CacheEvent) => void>;
  /**
   * Ends the watches of clients: with an error if the single changes are unknown, without one if the kind was changed
   * or removed. Clients then start new watches.
   */
  readonly watches: Set<(error: Error | undefined) => void>;
  /** The uncompressed texts of a kind that is kept `packed`. */
  readonly texts: NewestTexts | undefined;
}

/**
 * Caches all objects of the store, updated by one watch over the whole store.
 * 1. If the store reports writes in order, an object is visible here before its write is acknowledged to the client.
 * 2. Listeners are notified of every change once, in revision order, after it is visible.
 * 3. A read is never older than an earlier read.
 * 4. A new kind is registered before any of its objects is read, because the objects that define kinds (`defining`) are
 *    read first.
 */
export class WatchCache {
  readonly snapshots: ListSnapshots;
  readonly #storage: Storage;
  readonly #definitions: DefinitionIndex;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #defining: ResourceDefinition | undefined;
  readonly #kinds = new Map<ResourceDefinition, KindCache>();
  readonly #expected = new Map<string, { readonly value: string; readonly object: ApiObject }>();
  readonly #waiting = new Set<{ readonly revision: number; readonly wake: () => void }>();
  readonly #stop = new AbortController();
  #watch: StorageWatch | undefined;
  #revision = 0;
  #asked: Promise<number> | undefined;

  constructor(options: {
    readonly storage: Storage;
    readonly definitions: DefinitionIndex;
    /** The kind whose objects define kinds. */
    readonly defining?: ResourceDefinition;
    readonly clock: Clock;
    readonly log: Logger;
  }) {
    this.#storage = options.storage;
    this.#definitions = options.definitions;
    this.#clock = options.clock;
    this.snapshots = new ListSnapshots(options.clock);
    this.#log = options.log;
    this.#defining = options.defining;
    for (const definition of options.definitions.all) this.#addKind(definition);
    options.definitions.onChange((change) => this.#changeKinds(change));
  }

  get revision(): number {
    return this.#revision;
  }

  /** Returns the cache of a kind, or undefined if the kind is not stored. */
  find(definition: ResourceDefinition): KindCache | undefined {
    return this.#kinds.get(this.#definitions.storedOf(definition));
  }

  /** Returns the cache of a kind. Throws NotFound for a kind that was removed while its request was served. */
  kind(definition: ResourceDefinition): KindCache {
    const kind = this.find(definition);
    if (kind !== undefined) return kind;
    if (isStored(definition) || definition.storedAs !== undefined)
      throw new ApiStatusError('NotFound', 'the server could not find the requested resource', {});
    throw new ApiStatusError('MethodNotAllowed', `${definition.type.kind} is not stored`);
  }

  /** Returns the number of objects of each kind, for metrics. */
  counts(): ReadonlyMap<ResourceDefinition, number> {
    return new Map([...this.#kinds.values()].map(({ definition, objects }) => [definition, objects.size]));
  }

  /** Reads all objects, then watches. Rejects if the store cannot be read. */
  async start(): Promise<void> {
    await this.#loadAll();
    this.#follow();
  }

  stop(): void {
    this.#stop.abort();
    this.#watch?.close();
    this.snapshots.clear();
  }

  /**
   * Resolves when everything written before the call is visible here. Concurrent calls share one request to the store.
   */
  async fresh(): Promise<void> {
    // A running request may have been sent before the write that this caller must see. The next one was not.
    this.#asked ??= Promise.resolve().then(() => {
      this.#asked = undefined;
      return this.#storage.revision();
    });
    await this.waitFor(await this.#asked);
  }

  /** Waits for a version. Rejects with Timeout and cause ResourceVersionTooLarge if it does not arrive in time. */
  async waitFor(revision: number): Promise<void> {
    if (this.#revision >= revision) return;
    let waiter: { readonly revision: number; readonly wake: () => void } | undefined;
    const arrived = new Promise<void>((wake) => this.#waiting.add((waiter = { revision, wake })));
    try {
      await withDeadline(
        { clock: this.#clock, limitMs: FUTURE_VERSION_WAIT_MS, op: 'wait for a version', signal: this.#stop.signal },
        () => arrived,
      );
    } catch {
      const causes = [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }];
      throw new ApiStatusError('Timeout', `Too large resource version: ${revision}, current: ${this.#revision}`, {
        causes,
        retryAfterSeconds: 1,
      });
    } finally {
      if (waiter !== undefined) this.#waiting.delete(waiter);
    }
  }

  /** Announces a write, so that the object need not be parsed when the store reports it. */
  expect(key: string, value: string, object: ApiObject): void {
    this.#expected.set(key, { value, object });
  }

  forget(key: string): void {
    this.#expected.delete(key);
  }

  /** Parses a stored value. Returns undefined for unknown kinds and invalid JSON. */
  decode(definition: ResourceDefinition, item: StoredValue): CachedObject | undefined {
    try {
      return cachedObject(definition, fromStored(item.value, item.revision), item);
    } catch (error) {
      this.#log.error('skipping an unreadable object in the store', {
        key: item.key,
        error: errorMessage(error),
      });
      return undefined;
    }
  }

  #addKind(definition: ResourceDefinition): void {
    if (!isStored(definition)) return;
    this.#kinds.set(definition, {
      definition,
      objects: new ObjectList(),
      window: new EventWindow(WINDOW_LENGTH, this.#revision),
      lastChange: this.#revision,
      listeners: new Set(),
      watches: new Set(),
      texts: definition.packed === undefined ? undefined : new NewestTexts(),
    });
  }

  /** Ends the watches of each changed kind, in all of its versions. */
  #changeKinds({ removed, added, keepsWatches }: DefinitionsChange): void {
    const touched = new Set<KindCache>();
    for (const definition of removed) {
      const kind = this.#kinds.get(definition) ?? this.find(definition);
      if (kind !== undefined) touched.add(kind);
      this.#kinds.delete(definition);
    }
    for (const definition of added) this.#addKind(definition);
    if (keepsWatches === true) return;
    for (const kind of touched) for (const end of [...kind.watches]) end(undefined);
  }

  /** Loads all objects at the start. There are no readers yet, so pages are loaded one by one. */
  async #loadAll(): Promise<void> {
    const revision = await this.#readAll((kind, objectKey, item) => {
      if (kind.objects.get(objectKey)?.revision !== item.revision) this.#put(kind, objectKey, item);
    });
    this.#forgetPast(revision);
    this.#advance(revision);
  }

  /**
   * Applies the difference after the store's watch was interrupted; the single changes are unknown. So watches end
   * (their clients list again), and no watch can resume from a version in between. Listeners receive the differences in
   * revision order. There is no `await` after the last page, so all objects are of one version.
   */
  async #loadAgain(): Promise<void> {
    const seen = new Map<KindCache, Set<string>>();
    const changed: { readonly kind: KindCache; readonly objectKey: string; readonly item: StoredValue }[] = [];
    const revision = await this.#readAll((kind, objectKey, item) => {
      const keys = seen.get(kind) ?? new Set();
      seen.set(kind, keys.add(objectKey));
      if (kind.objects.get(objectKey)?.revision !== item.revision) changed.push({ kind, objectKey, item });
    });
    for (const kind of this.#kinds.values())
      for (const end of [...kind.watches])
        end(expired(`too old resource version: events before ${revision} are no longer stored`));
    changed.sort((one, other) => one.item.revision - other.item.revision);
    for (const { kind, objectKey, item } of changed) this.#put(kind, objectKey, item);
    for (const kind of [...this.#kinds.values()])
      for (const key of kind.objects.keys().filter((each) => seen.get(kind)?.has(each) !== true))
        this.#remove(kind, key, revision);
    this.#forgetPast(revision);
    this.#advance(revision);
  }

  /**
   * Loads every object of one revision of the store, and resolves to this revision. Objects that define kinds come
   * first.
   */
  async #readAll(take: (kind: KindCache, objectKey: string, item: StoredValue) => void): Promise<number> {
    const first = this.#defining;
    if (first === undefined) return this.#readPages(REGISTRY_PREFIX, undefined, take);
    const revision = await this.#readPages(storagePrefix(first), undefined, (kind, objectKey, item) => {
      // These objects are few, and the rest can be read only when their kinds are known.
      if (kind.objects.get(objectKey)?.revision !== item.revision) this.#put(kind, objectKey, item);
    });
    return this.#readPages(REGISTRY_PREFIX, revision, take);
  }

  async #readPages(
    prefix: string,
    of: number | undefined,
    take: (kind: KindCache, objectKey: string, item: StoredValue) => void,
  ): Promise<number> {
    let revision = of;
    let afterKey: string | undefined;
    for (;;) {
      const page = await this.#storage.list(prefix, {
        limit: PAGE_LENGTH,
        ...(afterKey !== undefined && { afterKey }),
        ...(revision !== undefined && { revision }),
      });
      revision ??= page.revision;
      for (const item of page.items) {
        const place = this.#definitions.locate(item.key);
        const kind = place && this.#kinds.get(place.definition);
        if (place !== undefined && kind !== undefined) take(kind, place.objectKey, item);
      }
      afterKey = page.items.at(-1)?.key;
      if (page.remaining === 0 || afterKey === undefined) return revision;
    }
  }

  /**
   * Marks all changes before `revision` as unknown. Any kind may have changed, because earlier deletions are not known.
   */
  #forgetPast(revision: number): void {
    for (const kind of this.#kinds.values()) {
      kind.window.restart(revision);
      kind.lastChange = revision;
    }
  }

  #follow(): void {
    this.#watch = this.#storage.watch(
      REGISTRY_PREFIX,
      this.#revision,
      (events, revision) => {
        for (const event of events) this.#apply(event);
        this.#advance(revision);
      },
      (end) => {
        this.#log.warn('the watch of the store ended', { why: end.kind });
        this.#watch = undefined;
        void this.#restart(end.kind);
      },
    );
  }

  async #restart(why: StorageWatchEnd['kind']): Promise<void> {
    let pauses = why === 'Unavailable';
    while (!this.#stop.signal.aborted) {
      if (pauses) await sleep(this.#clock, RETRY_MS, this.#stop.signal).catch(() => undefined);
      if (this.#stop.signal.aborted) return;
      try {
        if (why === 'Compacted') await this.#loadAgain();
        if (!this.#stop.signal.aborted) this.#follow();
        return;
      } catch (error) {
        this.#log.error('unable to read the store', { error: errorMessage(error) });
        pauses = true;
      }
    }
  }

  #apply(event: StorageEvent): void {
    const place = this.#definitions.locate(event.key);
    const kind = place && this.#kinds.get(place.definition);
    if (place === undefined || kind === undefined) return;
    if (event.type === 'delete') this.#remove(kind, place.objectKey, event.revision);
    else this.#put(kind, place.objectKey, event);
  }

  #put(kind: KindCache, objectKey: string, item: StoredValue): void {
    const expected = this.#expected.get(item.key);
    const known = expected?.value === item.value;
    if (known) this.#expected.delete(item.key);
    const after = known
      ? cachedObject(kind.definition, withVersion(expected.object, item.revision), item)
      : this.decode(kind.definition, item);
    if (after === undefined) return;
    const before = kind.objects.get(objectKey);
    kind.objects.set(objectKey, after);
    this.#tell(kind, { key: objectKey, revision: item.revision, before, after, deleted: false });
    before?.dropLongText();
    kind.texts?.add(after);
  }

  #remove(kind: KindCache, objectKey: string, revision: number): void {
    const before = kind.objects.get(objectKey);
    if (before === undefined) return;
    kind.objects.delete(objectKey);
    this.#tell(kind, { key: objectKey, revision, before, after: before.deletedAt(revision), deleted: true });
  }

  #tell(kind: KindCache, event: CacheEvent): void {
    kind.lastChange = Math.max(kind.lastChange, event.revision);
    if (this.#revision > 0) kind.window.push(event);
    for (const listener of kind.listeners) {
      try {
        listener(event);
      } catch (error) {
        // An error of one listener must not stop the others or the cache.
        this.#log.error('a listener of the cache failed', {
          kind: kind.definition.type.kind,
          key: event.key,
          error: errorMessage(error),
        });
      }
    }
  }

  #advance(revision: number): void {
    if (revision <= this.#revision) return;
    this.#revision = revision;
    for (const waiter of this.#waiting) if (waiter.revision <= revision) waiter.wake();
  }
}

function cachedObject(
  definition: ResourceDefinition,
  object: ApiObject,
  { revision, value }: StoredValue,
): CachedObject {
  return new CachedObject(definition, definition.packed?.(object) ?? object, revision, value);
}
