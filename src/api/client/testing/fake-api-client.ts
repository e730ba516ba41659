import type { Clock } from '../../../base/clock.ts';
import { seededRandom } from '../../../base/random.ts';
import type { Random } from '../../../base/random.ts';
import type { Pod } from '../../core/pod.ts';
import { generateName } from '../../generate-name.ts';
import {
  alreadyExists,
  ApiStatusError,
  badRequest,
  conflict,
  expired,
  notFound,
  staleObject,
} from '../../status/api-status-error.ts';
import { formatTime } from '../../time.ts';
import type {
  ApiClient,
  DeleteOptions,
  GetOptions,
  ListOptions,
  ListResult,
  Patch,
  PatchOptions,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from '../api-client.ts';
import { apiVersionOf, formatKey, keyOf } from '../resource-type.ts';
import type { ApiObject, ObjectKey, ResourceType } from '../resource-type.ts';
import type { Loose } from './fake-objects.ts';
import { beingDeleted, deepFreeze, isSame, nextGeneration, replaced, scaleOf, selectorOf } from './fake-objects.ts';
import { jsonPatch, mergePatch, strategicPatch } from './fake-patch.ts';
import { FakeWatch } from './fake-watch.ts';

export type FakeVerb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'post';

/** The calls in order. */
export interface FakeCall {
  readonly verb: FakeVerb;
  readonly plural: string;
  /** `namespace/name`; for generated names, the prefix. */
  readonly key: string;
  readonly subresource: string;
  readonly body?: unknown;
}

export interface FakeApiOptions {
  readonly clock: Clock;
  readonly random?: Random;
  /** The delay of each watch event; called per event and watch. Events of one watch keep their order. */
  readonly watchLagMs?: () => number;
  /** Supports streamed lists; otherwise refuses them as older servers do. Default true. */
  readonly streamsLists?: boolean;
}

interface Change {
  readonly version: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly resource: string;
  readonly object: ApiObject;
  readonly before: ApiObject | undefined;
}

interface OpenWatch {
  readonly watch: FakeWatch;
  readonly resource: string;
  readonly selects: (object: ApiObject) => boolean;
}

type Refusal = (call: FakeCall) => Error | undefined;

/**
 * An API server in memory, for tests. It supports versions, generated names and uids, optimistic locking, a status
 * subresource for every kind, generations, selectors, patches, graceful deletion of pods, finalizers, and watches with
 * a history that can be dropped. It does not validate or default objects. Stored objects are deeply frozen, so changing
 * one in place throws.
 */
export class FakeApiClient implements ApiClient {
  /** All calls, including refused ones. */
  readonly calls: FakeCall[] = [];
  readonly #options: FakeApiOptions;
  readonly #random: Random;
  readonly #objects = new Map<string, Map<string, ApiObject>>();
  readonly #history: Change[] = [];
  readonly #watches = new Set<OpenWatch>();
  readonly #refusals = new Set<Refusal>();
  readonly #posts = new Map<string, (key: ObjectKey, body: object) => unknown>();
  #version = 100;
  #forgottenUpTo = 0;

  constructor(options: FakeApiOptions) {
    this.#options = options;
    this.#random = options.random ?? seededRandom(1);
  }

  async get<T extends ApiObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    { subresource = '' }: GetOptions = {},
  ): Promise<T> {
    await this.#arrive({ verb: 'get', plural: type.plural, key: formatKey(key), subresource });
    const object = this.#find(type, key);
    return subresource === 'scale' ? scaleOf(object) : object;
  }

  async list<T extends ApiObject>(
    type: ResourceType<T>,
    namespace: string,
    options: ListOptions = {},
  ): Promise<ListResult<T>> {
    await this.#arrive({ verb: 'list', plural: type.plural, key: namespace, subresource: '' });
    const selects = selectorOf(namespace, options);
    const all = [...this.#kind(type).values()].filter(selects) as T[];
    const from = options.continue === undefined ? 0 : Number(options.continue);
    const items =
      options.limit === undefined || options.resourceVersion === '0'
        ? all.slice(from)
        : all.slice(from, from + options.limit);
    const next = from + items.length;
    return { items, resourceVersion: String(this.#version), ...(next < all.length && { continue: String(next) }) };
  }

  async *watch<T extends ApiObject>(
    type: ResourceType<T>,
    namespace: string,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent<T>> {
    await this.#arrive({ verb: 'watch', plural: type.plural, key: namespace, subresource: '' });
    if (options.sendInitialEvents === true && this.#options.streamsLists === false)
      throw new ApiStatusError(
        'Invalid',
        'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled',
      );
    const selects = selectorOf(namespace, options);
    const watch = new FakeWatch(type.plural, this.#options.clock, this.#options.watchLagMs ?? (() => 0));
    const open: OpenWatch = { watch, resource: nameOf(type), selects };
    this.#begin(open, options);
    this.#watches.add(open);
    const end = (): void => watch.end();
    signal.addEventListener('abort', end, { once: true });
    try {
      // Objects of this resource are of its type.
      if (!signal.aborted) yield* watch as unknown as AsyncIterable<WatchEvent<T>>;
    } finally {
      this.#watches.delete(open);
      signal.removeEventListener('abort', end);
    }
  }

  async create<T extends ApiObject>(type: ResourceType<T>, object: T, options: WriteOptions = {}): Promise<T> {
    const { name, generateName: prefix = '', namespace } = object.metadata;
    await this.#arrive({
      verb: 'create',
      plural: type.plural,
      key: formatKey({ namespace, name: name === '' ? prefix : name }),
      subresource: '',
      body: object,
    });
    const given = name !== '' || prefix === '' ? name : generateName(prefix, this.#random);
    if (given === '') throw badRequest('name or generateName is required');
    if (this.#kind(type).has(formatKey({ namespace, name: given }))) throw alreadyExists(type, given);
    const { status, ...rest } = object as T & Loose;
    const created = {
      kind: type.kind,
      apiVersion: apiVersionOf(type),
      ...rest,
      // The client that registers a node sets its status, too (upstream: the strategy of nodes keeps the status).
      ...(type.plural === 'nodes' && { status }),
      metadata: {
        ...object.metadata,
        name: given,
        uid: this.#random.uuid(),
        creationTimestamp: this.#now(),
        generation: 1,
      },
    } as unknown as T;
    return options.dryRun === true ? created : this.#store(type, 'ADDED', created);
  }

  async update<T extends ApiObject>(
    type: ResourceType<T>,
    object: T,
    options: WriteOptions & { readonly subresource?: string } = {},
  ): Promise<T> {
    const { subresource = '', dryRun = false } = options;
    await this.#arrive({
      verb: 'update',
      plural: type.plural,
      key: formatKey(keyOf(object)),
      subresource,
      body: object,
    });
    return this.#replace(type, object, subresource, dryRun);
  }

  async patch<T extends ApiObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    patch: Patch,
    options: PatchOptions = {},
  ): Promise<T> {
    const { subresource = '', dryRun = false } = options;
    await this.#arrive({ verb: 'patch', plural: type.plural, key: formatKey(key), subresource, body: patch.body });
    const before = this.#find(type, key);
    const patched =
      patch.type === 'json'
        ? jsonPatch(before, patch.body)
        : (patch.type === 'merge' ? mergePatch : strategicPatch)(before, patch.body);
    if (typeof patched === 'string') throw new ApiStatusError('Invalid', patched);
    // A patch of an object of this type.
    const object = patched as T;
    if (object.metadata.uid !== before.metadata.uid) {
      throw conflict(
        type,
        key.name,
        `Precondition failed: UID in precondition: ${object.metadata.uid}, UID in object meta: ${before.metadata.uid}`,
      );
    }
    return this.#replace(type, object, subresource, dryRun);
  }

  async delete(type: ResourceType, key: ObjectKey, options: DeleteOptions = {}): Promise<void> {
    await this.#arrive({ verb: 'delete', plural: type.plural, key: formatKey(key), subresource: '', body: options });
    const before = this.#find(type, key);
    const { uid, resourceVersion } = options.preconditions ?? {};
    if (uid !== undefined && uid !== before.metadata.uid)
      throw conflict(
        type,
        key.name,
        `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${before.metadata.uid}`,
      );
    if (resourceVersion !== undefined && resourceVersion !== before.metadata.resourceVersion)
      throw staleObject(type, key.name);
    this.#delete(type, before, options);
  }

  async post(type: ResourceType, key: ObjectKey, subresource: string, body: object): Promise<unknown> {
    await this.#arrive({ verb: 'post', plural: type.plural, key: formatKey(key), subresource, body });
    const scripted = this.#posts.get(`${type.plural}/${subresource}`);
    if (scripted !== undefined) return scripted(key, body);
    const before = this.#find(type, key);
    if (subresource === 'binding') {
      // The body is a Binding, the object a pod.
      const { target } = body as { target?: { name?: string } };
      const pod = before as unknown as Pod;
      if ((pod.spec.nodeName ?? '') !== '')
        throw conflict(
          type,
          key.name,
          `pod ${key.name} is already assigned to node ${JSON.stringify(pod.spec.nodeName)}`,
        );
      this.#store(type, 'MODIFIED', { ...pod, spec: { ...pod.spec, nodeName: target?.name } } as unknown as ApiObject);
    } else if (subresource === 'eviction') this.#delete(type, before, {});
    else throw notFound(type, key.name);
    return { kind: 'Status', apiVersion: 'v1', status: 'Success' };
  }

  // What tests do without calls of the API.

  /** Stores an object with its status. Missing uid, times and version are filled in. */
  seed<T extends ApiObject>(type: ResourceType<T>, object: T): T {
    const before = this.#kind(type).get(formatKey(keyOf(object)));
    const metadata = {
      generation: 1,
      creationTimestamp: this.#now(),
      ...object.metadata,
      uid: object.metadata.uid === '' ? this.#random.uuid() : object.metadata.uid,
    };
    return this.#store(type, before === undefined ? 'ADDED' : 'MODIFIED', {
      kind: type.kind,
      apiVersion: apiVersionOf(type),
      ...object,
      metadata,
    } as T);
  }

  /** The stored object; not recorded as a call. */
  peek<T extends ApiObject>(type: ResourceType<T>, key: ObjectKey): T | undefined {
    // Objects of this resource are of its type.
    return this.#kind(type).get(formatKey(key)) as T | undefined;
  }

  all<T extends ApiObject>(type: ResourceType<T>): readonly T[] {
    return [...this.#kind(type).values()] as T[];
  }

  /**
   * Changes an object as another client would, without optimistic locking; the status can be changed too. Returns
   * undefined if the object does not exist.
   */
  change<T extends ApiObject>(type: ResourceType<T>, key: ObjectKey, change: (object: T) => T): T | undefined {
    const before = this.peek(type, key);
    if (before === undefined) return undefined;
    const after = change(before);
    return this.#finish(type, before, {
      ...after,
      metadata: { ...after.metadata, generation: nextGeneration(before, after) },
    });
  }

  /** Removes an object immediately, despite finalizers. */
  remove(type: ResourceType, key: ObjectKey): void {
    const before = this.#kind(type).get(formatKey(key));
    if (before !== undefined) this.#store(type, 'DELETED', before);
  }

  /** Refuses calls: `refuse` returns an error, or undefined to accept the call. Returns the function that ends it. */
  script(refuse: Refusal): () => void {
    this.#refusals.add(refuse);
    return () => void this.#refusals.delete(refuse);
  }

  /** Refuses the next `times` calls of a verb on a resource. */
  fail(verb: FakeVerb, plural: string, error: Error, times = 1): void {
    let left = times;
    const end = this.script((call) => {
      if (call.verb !== verb || call.plural !== plural) return undefined;
      if (--left === 0) end();
      return error;
    });
  }

  /** Sets the answer to POST requests on a subresource. */
  onPost(plural: string, subresource: string, answer: (key: ObjectKey, body: object) => unknown): void {
    this.#posts.set(`${plural}/${subresource}`, answer);
  }

  /** Forgets old events: watches from earlier versions are refused with 410. */
  compact(): void {
    this.#history.length = 0;
    this.#forgottenUpTo = this.#version;
  }

  /** Ends all watches, with `error` or without one. `plural` limits it to one resource. */
  endWatches(error?: Error, plural?: string): void {
    for (const { watch } of this.#watches) {
      if (plural !== undefined && watch.plural !== plural) continue;
      if (error !== undefined) watch.push({ type: 'ERROR', error });
      watch.end();
    }
  }

  /** Open watches stay open, but receive no further events. */
  muteWatches(): void {
    for (const { watch } of this.#watches) watch.mute();
  }

  bookmark(): void {
    for (const { watch } of this.#watches)
      watch.push({ type: 'BOOKMARK', resourceVersion: String(this.#version), initialEventsEnd: false });
  }

  get openWatches(): readonly string[] {
    return [...this.#watches].map(({ watch }) => watch.plural);
  }

  /** The calls that change objects, as `verb resource[/subresource] key`. */
  get writes(): readonly string[] {
    return this.calls
      .filter(({ verb }) => verb !== 'get' && verb !== 'list' && verb !== 'watch')
      .map(
        ({ verb, plural, key, subresource }) =>
          `${verb} ${plural}${subresource === '' ? '' : `/${subresource}`} ${key}`,
      );
  }

  async #arrive(call: FakeCall): Promise<void> {
    this.calls.push(call);
    // As with a real connection, nothing happens in the caller's turn.
    await Promise.resolve();
    for (const refuse of this.#refusals) {
      const error = refuse(call);
      if (error !== undefined) throw error;
    }
  }

  #begin(
    { watch, resource, selects }: OpenWatch,
    { resourceVersion = '', sendInitialEvents = false }: WatchOptions,
  ): void {
    if (sendInitialEvents) {
      for (const object of this.#objects.get(resource)?.values() ?? [])
        if (selects(object)) watch.push({ type: 'ADDED', object });
      watch.push({ type: 'BOOKMARK', resourceVersion: String(this.#version), initialEventsEnd: true });
      return;
    }
    const from = resourceVersion === '' || resourceVersion === '0' ? this.#version : Number(resourceVersion);
    if (from < this.#forgottenUpTo) {
      watch.push({ type: 'ERROR', error: expired(`too old resource version: ${from} (${this.#forgottenUpTo})`) });
      watch.end();
      return;
    }
    for (const change of this.#history)
      if (change.version > from && change.resource === resource) deliver(watch, selects, change);
  }

  #kind(type: ResourceType): Map<string, ApiObject> {
    const name = nameOf(type);
    let kind = this.#objects.get(name);
    if (kind === undefined) this.#objects.set(name, (kind = new Map<string, ApiObject>()));
    return kind;
  }

  #find<T extends ApiObject>(type: ResourceType<T>, key: ObjectKey): T {
    const found = this.peek(type, key);
    if (found === undefined) throw notFound(type, key.name);
    return found;
  }

  #now(): string {
    return formatTime(this.#options.clock.nowMs());
  }

  #replace<T extends ApiObject>(type: ResourceType<T>, object: T, subresource: string, dryRun: boolean): T {
    const before = this.#find(type, keyOf(object));
    const { uid, resourceVersion } = object.metadata;
    if (resourceVersion !== undefined && resourceVersion !== '' && resourceVersion !== before.metadata.resourceVersion)
      throw staleObject(type, object.metadata.name);
    if (uid !== '' && uid !== before.metadata.uid)
      throw conflict(
        type,
        object.metadata.name,
        `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${before.metadata.uid}`,
      );
    const after = replaced(before, object, subresource);
    const stored = dryRun ? after : this.#finish(type, before, after);
    return subresource === 'scale' ? scaleOf(stored) : stored;
  }

  /** Stores the changed object, or removes it when it was only kept by a finalizer that is gone. */
  #finish<T extends ApiObject>(type: ResourceType<T>, before: T, after: T): T {
    const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = after.metadata;
    if (deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0 && finalizers.length === 0)
      return this.#store(type, 'DELETED', after);
    return isSame(before, after) ? before : this.#store(type, 'MODIFIED', after);
  }

  #delete(type: ResourceType, before: ApiObject, options: DeleteOptions): void {
    const after = beingDeleted(type, before, { ...options, nowMs: this.#options.clock.nowMs() });
    if (after === undefined) this.#store(type, 'DELETED', before);
    else this.#finish(type, before, after);
  }

  #store<T extends ApiObject>(type: ResourceType<T>, change: Change['type'], object: T): T {
    const version = ++this.#version;
    const kind = this.#kind(type);
    const key = formatKey(keyOf(object));
    const before = kind.get(key);
    const stored = deepFreeze({ ...object, metadata: { ...object.metadata, resourceVersion: String(version) } });
    if (change === 'DELETED') kind.delete(key);
    else kind.set(key, stored);
    const made: Change = { version, type: change, resource: nameOf(type), object: stored, before };
    this.#history.push(made);
    for (const { watch, resource, selects } of this.#watches)
      if (resource === made.resource) deliver(watch, selects, made);
    return stored;
  }
}

const nameOf = ({ group, plural }: ResourceType): string => `${group}/${plural}`;

/** For a watch with a selector, an object that starts to match is added, and one that no longer matches is deleted. */
function deliver(watch: FakeWatch, selects: (object: ApiObject) => boolean, { type, object, before }: Change): void {
  const was = before !== undefined && selects(before);
  const is = type !== 'DELETED' && selects(object);
  if (is) watch.push({ type: was ? 'MODIFIED' : 'ADDED', object });
  else if (was) watch.push({ type: 'DELETED', object });
}
