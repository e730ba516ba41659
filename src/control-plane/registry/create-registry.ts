import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import { nextTurn } from '../../base/turn.ts';
import { TurnShare } from '../../base/turn-share.ts';
import { ApiStatusError, notFound } from '../../api/status/api-status-error.ts';
import type { ClusterPolicy } from '../../api/validation/cluster-policy.ts';
import type { AdmissionPlugin } from '../model/admission.ts';
import type { ObjectReader } from '../model/object-reader.ts';
import type {
  ActionServices,
  AllocationObjects,
  AllocationStore,
  ResourceDefinition,
  AccessQuestions,
} from '../model/resource-definition.ts';
import type { RequestContext } from '../model/request-context.ts';
import type { Storage } from '../storage/storage.ts';
import { createObject } from './write/create-object.ts';
import type { DefinitionIndex } from './definition-index.ts';
import type { Homes } from './homes.ts';
import { deleteObject } from './write/delete-object.ts';
import { patchObject } from './write/patch-object.ts';
import { notOlderThan, readList } from './read/read-list.ts';
import type {
  PatchBody,
  Registry,
  ResourceRequest,
  Served,
  ServedList,
  WatchSink,
  WriteBody,
  Written,
} from './registry.ts';
import { runAction, runReview } from './write/run-action.ts';
import { createAllocationStore } from './allocation/allocation-store.ts';
import { readPart } from './subresources.ts';
import { updateObject } from './write/update-object.ts';
import { watchKind } from './read/watch-kind.ts';
import { asServed, servedBody } from './write/write-tools.ts';
import type { WriteTools } from './write/write-tools.ts';

/** The number of objects of a collection that are deleted before the event loop gets its turn. */
const DELETIONS_PER_TURN = 20;

export interface RegistryOptions {
  readonly homes: Homes;
  readonly reader: ObjectReader;
  /** The main store, which contains allocations. */
  readonly storage: Storage;
  readonly definitions: DefinitionIndex;
  readonly clock: Clock;
  /** How writes share turns of the event loop. The default is by `workedMs`. */
  readonly pace?: WriteTools['pace'];
  /** The clock by which writes share turns of the event loop. The default is the system's clock. */
  readonly workedMs?: () => number;
  readonly random: Random;
  readonly allocationSettings: AllocationStore['settings'];
  /** Returns the client for objects that represent allocations. */
  readonly allocationClient: () => AllocationObjects;
  readonly policy: ClusterPolicy;
  /** The admission plugins in the order in which they run. */
  readonly admission: readonly AdmissionPlugin[];
  readonly services: ActionServices;
  readonly reviewAccess: (context: RequestContext) => AccessQuestions;
}

/** Creates the API verbs on a running cache. */
export function createRegistry({
  storage,
  allocationSettings,
  allocationClient,
  workedMs,
  pace,
  ...tools
}: RegistryOptions): Registry {
  const claims = createAllocationStore({ ...tools, storage, settings: allocationSettings, client: allocationClient });
  const elapsedMs = (): number => tools.clock.monotonicMs();
  const share = workedMs === undefined ? new TurnShare(elapsedMs) : new TurnShare(workedMs, elapsedMs);
  return new ObjectRegistry({ ...tools, claims, pace: pace ?? share });
}

type SharedTools = Omit<WriteTools, 'cache' | 'storage' | 'term'>;

class ObjectRegistry implements Registry {
  readonly #shared: SharedTools;
  /** The converted objects of kinds that are stored as another kind. Each is converted once for all readers. */
  readonly #converted = new WeakMap<ResourceDefinition, WeakMap<Served, Served>>();

  constructor(shared: SharedTools) {
    this.#shared = shared;
  }

  #tools({ definition, term }: ResourceRequest): WriteTools {
    const { cache, storage } = this.#shared.homes.of(definition);
    return { ...this.#shared, cache, storage, term };
  }

  async get(request: ResourceRequest, { resourceVersion }: { readonly resourceVersion?: string }): Promise<Served> {
    const { definition, namespace, name, subresource } = request;
    const { cache } = this.#shared.homes.of(definition);
    await notOlderThan(cache, resourceVersion);
    const cached = cache.kind(definition).objects.get(namespace === '' ? name : `${namespace}/${name}`);
    if (cached === undefined) throw notFound(definition.type, name);
    await definition.storedAs?.prepare?.([cached.object]);
    const served = this.#serve(definition, cached);
    if (subresource === '' || subresource === 'status') return served;
    const part = readPart(definition, subresource, served.object);
    return part === served.object ? served : servedBody(part);
  }

  async list(request: ResourceRequest, options: Parameters<Registry['list']>[1]): Promise<ServedList> {
    const { cache, storage } = this.#shared.homes.of(request.definition);
    const list = await readList({ cache, storage, pace: this.#shared.pace }, request, options);
    const { storedAs } = request.definition;
    if (storedAs === undefined) return list;
    await storedAs.prepare?.(list.items.map(({ object }) => object));
    return { ...list, items: list.items.map((item) => this.#serve(request.definition, item)) };
  }

  watch(
    request: ResourceRequest,
    options: Parameters<Registry['watch']>[1],
    sink: WatchSink,
  ): Promise<{ close(): void }> {
    const { clock, homes } = this.#shared;
    const { cache } = homes.of(request.definition);
    return watchKind(
      { cache, clock, serve: (served) => this.#serve(request.definition, served) },
      request,
      options,
      sink,
    );
  }

  create(request: ResourceRequest, body: WriteBody): Promise<Served> {
    if (request.definition.review !== undefined) return runReview(this.#tools(request), request, body);
    return request.subresource === ''
      ? createObject(this.#tools(request), request, body)
      : runAction(this.#tools(request), request, body);
  }

  update(request: ResourceRequest, body: WriteBody): Promise<Written> {
    return updateObject(this.#tools(request), request, body).then((written) => this.#partOf(request, written));
  }

  patch(request: ResourceRequest, patch: PatchBody): Promise<Written> {
    return patchObject(this.#tools(request), request, patch).then((written) => this.#partOf(request, written));
  }

  delete(request: ResourceRequest, options: unknown): Promise<Served & { readonly gone: boolean }> {
    return deleteObject(this.#tools(request), request, options);
  }

  async deleteCollection(
    request: ResourceRequest,
    selection: Parameters<Registry['list']>[1],
    options: unknown,
  ): Promise<ServedList> {
    // A deletion does not check whether an object is initialized, and this deletes many objects.
    const all = await this.list(request, { ...selection, includeUninitialized: true });
    const { refuseDeletion } = request.definition.rules;
    const list = {
      ...all,
      items: all.items.filter(({ object }) => refuseDeletion?.(object.metadata.name) === undefined),
    };
    for (const [index, { object }] of list.items.entries()) {
      const { name, namespace } = object.metadata;
      // A dry run never waits, so it needs explicit pauses.
      if (index % DELETIONS_PER_TURN === 0) await nextTurn();
      try {
        await this.delete({ ...request, name, namespace }, options);
      } catch (error) {
        // Another client has already deleted it.
        if (!(error instanceof ApiStatusError) || error.reason !== 'NotFound') throw error;
      }
    }
    return list;
  }

  #serve(definition: ResourceDefinition, served: Served): Served {
    if (definition.storedAs === undefined) return served;
    let known = this.#converted.get(definition);
    if (known === undefined) this.#converted.set(definition, (known = new WeakMap()));
    let converted = known.get(served);
    if (converted === undefined) {
      converted = asServed(definition, served);
      known.set(served, converted);
    }
    return converted;
  }

  /** Converts the response of a write to the subresource's own kind. */
  #partOf({ definition, subresource }: ResourceRequest, written: Written): Written {
    if (subresource === '' || subresource === 'status') return written;
    const part = readPart(definition, subresource, written.object);
    return part === written.object ? written : { ...servedBody(part), created: written.created };
  }
}
