import { inBackground } from '../../../base/background.ts';
import type { InformerHandlers } from '../../../api/client/informer.ts';
import { formatKey, keyOf, parseKey } from '../../../api/client/resource-type.ts';
import type { ResourceType } from '../../../api/client/resource-type.ts';
import type { OwnerReference } from '../../../api/core/meta.ts';
import { goQuote } from '../../../api/go-quote.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import type { CustomKinds } from '../../controller-runtime/custom-kinds.ts';
import { createEventRecorder } from '../../controller-runtime/event-recorder.ts';
import type { EventRecorder } from '../../controller-runtime/event-recorder.ts';
import { noOtherApis } from '../../controller-runtime/other-apis.ts';
import type { OtherApis } from '../../controller-runtime/other-apis.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { followCustomKinds } from './follow-custom-kinds.ts';
import { FOREGROUND_FINALIZER, judgeByOwners, ORPHAN_FINALIZER } from './judge-owners.ts';
import type { JudgedOwner, OwnerState } from './judge-owners.ts';
import { OtherOwners } from './other-owners.ts';
import { OwnerGraph } from './owner-graph.ts';
import type { GraphNode } from './owner-graph.ts';

/** The number of concurrent syncs (upstream: --concurrent-gc-syncs). */
const WORKERS = 20;
/** Owners that are not watched are checked again after this time. Upstream looks for new kinds as often. */
const UNWATCHED_MS = 30_000;
/** The retry interval while the first list of a kind is pending. */
const UNSYNCED_MS = 100;

export interface GarbageCollectorOptions extends ControllerOptions {
  /** The kinds that can be owners or dependents. Events are excluded, because they expire. */
  readonly types: readonly ResourceType[];
  readonly customKinds?: CustomKinds;
  readonly otherApis?: OtherApis;
}

/**
 * Deletes objects whose owners are gone, and releases owners that wait for their dependents (upstream:
 * garbagecollector).
 * 1. The absence of an owner is confirmed with the server, never taken from a cache. Its existence may be, because a
 *    deletion would be an event.
 * 2. An object is deleted only with the UID and version that were checked; otherwise it is checked again.
 * 3. Nothing is deleted while the first list of a new kind is pending.
 */
export function createGarbageCollector(options: GarbageCollectorOptions): Controller {
  const { clock, log } = options;
  const graph = new OwnerGraph();
  const informers = options.types.map((type) => options.informers.for(type));
  for (const informer of informers) graph.add(informer);
  const add = (node: GraphNode): void => queue.add(queueKey(node));
  const follower = followCustomKinds(options, options.customKinds ?? noCustomKinds, (informer) => {
    graph.add(informer);
    const end = informer.addHandlers(handlersFor(informer.type, graph, (key) => queue.add(key)));
    // Objects with an owner of this kind could not be evaluated before.
    const judge = informer.whenSynced().then(() => graph.dependentsOfKind(informer.type).forEach(add));
    inBackground(log, `judge dependents of ${informer.type.kind}`, judge);
    return () => {
      end();
      graph.remove(informer.type);
    };
  });
  const events = createEventRecorder({ client: options.client, clock, log, component: 'garbage-collector-controller' });
  const collector = new Collector(options, { graph, events, servedOf: (type) => follower.servedOf(type) });
  const queue = new RateLimitingQueue({
    name: 'garbage-collector',
    clock,
    log,
    workers: WORKERS,
    sync: (key) => collector.sync(key),
  });
  const ends = informers.map((informer) =>
    informer.addHandlers(handlersFor(informer.type, graph, (key) => queue.add(key))),
  );
  const controller = runController({ name: 'garbage collector', log, queues: [queue], informers, ends });
  return {
    start: () => {
      follower.start();
      controller.start();
    },
    stop: async () => {
      await controller.stop();
      await follower.stop();
    },
  };
}

const noCustomKinds: CustomKinds = { list: () => [], find: () => undefined, onChange: () => () => undefined };

/** Returns the event handlers for a kind, which select the objects to check. */
function handlersFor(
  type: ResourceType,
  graph: OwnerGraph,
  addKey: (key: string) => void,
): InformerHandlers<GraphNode['object']> {
  const add = (node: GraphNode): void => addKey(queueKey(node));
  const consider = (object: GraphNode['object']): void => {
    if (object.metadata.ownerReferences !== undefined || isLeaving(object)) add({ type, object });
  };
  const wakeOwners = ({ metadata }: GraphNode['object'], which: (reference: OwnerReference) => boolean): void => {
    for (const reference of (metadata.ownerReferences ?? []).filter(which)) {
      const owner = graph.typeOf(reference.apiVersion, reference.kind);
      if (owner !== undefined)
        addKey(keyFor(owner, { namespace: owner.namespaced ? metadata.namespace : '', name: reference.name }));
    }
  };
  return {
    onAdd: consider,
    onUpdate: (before, after) => {
      if (before.metadata.ownerReferences !== after.metadata.ownerReferences) {
        consider(after);
        // An owner that it blocked may now be deleted.
        wakeOwners(before, (reference) => !isHeldUpBy(after, reference));
      } else if (isLeaving(after)) consider(after);
      // When an owner begins to wait, its dependents are checked.
      if (isLeaving(after) && !isLeaving(before))
        for (const dependent of graph.dependentsOf(after.metadata.uid)) add(dependent);
    },
    onDelete: (last) => {
      for (const dependent of graph.dependentsOf(last.metadata.uid)) add(dependent);
      // Its owners may have waited for it.
      wakeOwners(last, () => true);
    },
  };
}

const keyFor = (type: ResourceType, key: { readonly namespace: string; readonly name: string }): string =>
  `${type.group}|${type.plural}|${formatKey(key)}`;
const queueKey = ({ type, object }: GraphNode): string => keyFor(type, keyOf(object));

/** Whether the object still blocks the deletion of this owner. */
function isHeldUpBy({ metadata }: GraphNode['object'], { uid }: OwnerReference): boolean {
  return (metadata.ownerReferences ?? []).some((each) => each.uid === uid && each.blockOwnerDeletion === true);
}

/** Whether the object is terminating with a finalizer of the garbage collector. */
function isLeaving({ metadata }: GraphNode['object']): boolean {
  return (
    metadata.deletionTimestamp !== undefined &&
    (metadata.finalizers ?? []).some((each) => each === FOREGROUND_FINALIZER || each === ORPHAN_FINALIZER)
  );
}

interface CollectorParts {
  readonly graph: OwnerGraph;
  readonly events: EventRecorder;
  readonly servedOf: (type: ResourceType) => ResourceType | undefined;
}

class Collector {
  readonly #options: GarbageCollectorOptions;
  readonly #graph: OwnerGraph;
  readonly #events: EventRecorder;
  readonly #servedOf: (type: ResourceType) => ResourceType | undefined;
  readonly #otherOwners: OtherOwners;

  constructor(options: GarbageCollectorOptions, { graph, events, servedOf }: CollectorParts) {
    this.#options = options;
    this.#graph = graph;
    this.#events = events;
    this.#servedOf = servedOf;
    this.#otherOwners = new OtherOwners(options.otherApis ?? noOtherApis, options.clock);
  }

  async sync(key: string): Promise<number | undefined> {
    if (!this.#graph.hasSynced()) return UNSYNCED_MS;
    const [group = '', plural = '', rest = ''] = key.split('|');
    const node = this.#graph.find(plural, group, parseKey(rest));
    if (node === undefined) return undefined;
    try {
      if (!isLeaving(node.object)) return await this.#judge(node);
      await this.#letGo(node);
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error;
    }
    return undefined;
  }

  /** Handles a deleted owner: its dependents are orphaned or awaited. */
  async #letGo(node: GraphNode): Promise<void> {
    const { uid, finalizers = [] } = node.object.metadata;
    const dependents = this.#graph.dependentsOf(uid);
    if (finalizers.includes(ORPHAN_FINALIZER)) {
      await Promise.all(dependents.map((dependent) => this.#dropReferences(dependent, [uid])));
      return this.#removeFinalizer(node, ORPHAN_FINALIZER);
    }
    // An object that owns itself would wait forever.
    const blocking = dependents.filter(
      ({ object }) =>
        object.metadata.uid !== uid &&
        (object.metadata.ownerReferences ?? []).some((each) => each.uid === uid && each.blockOwnerDeletion === true),
    );
    if (blocking.length === 0) return this.#removeFinalizer(node, FOREGROUND_FINALIZER);
    for (const dependent of dependents) await this.#judge(dependent);
  }

  /** Returns after which time the object must be judged again, if no event will say when. */
  async #judge(node: GraphNode): Promise<number | undefined> {
    const { metadata } = node.object;
    const owners: JudgedOwner[] = [];
    const { ownerReferences = [] } = metadata;
    const isWatched = ({ apiVersion, kind }: OwnerReference): boolean =>
      this.#graph.typeOf(apiVersion, kind) !== undefined;
    const againMs = ownerReferences.every(isWatched) ? undefined : UNWATCHED_MS;
    for (const reference of ownerReferences) {
      const state = await this.#stateOf(node, reference);
      // Nothing is decided about an owner whose existence is unknown.
      if (state === undefined) return againMs;
      owners.push({ reference, state });
    }
    const judgement = judgeByOwners(
      {
        finalizers: metadata.finalizers ?? [],
        deleting: metadata.deletionTimestamp !== undefined,
        hasDependents: this.#graph.hasDependents(metadata.uid),
      },
      owners,
    );
    if (judgement.kind === 'dropReferences') await this.#dropReferences(node, judgement.uids);
    if (judgement.kind !== 'delete') return againMs;
    if (judgement.policy === 'Foreground') await this.#breakCircle(node);
    await this.#delete(node, judgement.policy);
    return undefined;
  }

  /**
   * Deletes one object of a cycle of owners that wait for each other: it no longer blocks its owners (upstream:
   * unblockOwnerReferences).
   */
  async #breakCircle(node: GraphNode): Promise<void> {
    const { uid, ownerReferences = [] } = node.object.metadata;
    const isCircle = this.#graph
      .dependentsOf(uid)
      .some(
        (dependent) =>
          dependent.object.metadata.finalizers?.includes(FOREGROUND_FINALIZER) === true && isLeaving(dependent.object),
      );
    const blocking = ownerReferences.filter(({ blockOwnerDeletion }) => blockOwnerDeletion === true);
    if (!isCircle || blocking.length === 0) return;
    const freed = new Set(blocking.map((reference) => reference.uid));
    await this.#patchReferences(node, {
      strategic: [...freed].map((each) => ({ uid: each, blockOwnerDeletion: false })),
      whole: ownerReferences.map((each) => (freed.has(each.uid) ? { ...each, blockOwnerDeletion: false } : each)),
    });
  }

  /** Undefined if its kind is unknown, or it can never own this object. */
  async #stateOf(node: GraphNode, reference: OwnerReference): Promise<OwnerState | undefined> {
    const { object } = node;
    const { apiVersion, kind } = reference;
    const type = this.#graph.typeOf(apiVersion, kind);
    if (type === undefined) return this.#otherOwners.stateOf(reference, object.metadata.namespace);
    const isPossible = !type.namespaced || object.metadata.namespace !== '';
    const state = isPossible ? await this.#knownStateOf(type, object, reference) : undefined;
    if (type.namespaced && (state ?? 'absent') === 'absent') this.#reportElsewhere(type, node, reference);
    return state;
  }

  /** An owner in another namespace counts as absent; users learn of it (upstream: reportInvalidNamespaceOwnerRef). */
  #reportElsewhere(ownerType: ResourceType, { type, object }: GraphNode, reference: OwnerReference): void {
    const { apiVersion, kind, name, uid } = reference;
    const { namespace } = object.metadata;
    if (!this.#graph.isElsewhere(ownerType, uid, namespace)) return;
    const owner = `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`;
    this.#events.event(type, object, {
      type: 'Warning',
      reason: 'OwnerRefInvalidNamespace',
      message: `ownerRef ${owner} does not exist in namespace ${goQuote(namespace)}`,
    });
  }

  async #knownStateOf(
    type: ResourceType,
    object: GraphNode['object'],
    { name, uid }: OwnerReference,
  ): Promise<OwnerState> {
    const key = { namespace: type.namespaced ? object.metadata.namespace : '', name };
    const known = this.#graph.find(type.plural, type.group, key)?.object.metadata;
    if (known?.uid === uid && known.deletionTimestamp === undefined) return 'solid';
    try {
      const { metadata } = await this.#options.client.get(type, key);
      if (metadata.uid !== uid) return 'absent';
      return metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(FOREGROUND_FINALIZER) === true
        ? 'waiting'
        : 'solid';
    } catch (error) {
      if (isApiError(error, 'NotFound')) return 'absent';
      throw error;
    }
  }

  async #delete({ type, object }: GraphNode, propagationPolicy: 'Background' | 'Foreground' | 'Orphan'): Promise<void> {
    const { uid, resourceVersion } = object.metadata;
    const preconditions = { uid, ...(resourceVersion !== undefined && { resourceVersion }) };
    const { client } = this.#options;
    await client.delete(this.#servedOf(type) ?? type, keyOf(object), { propagationPolicy, preconditions });
  }

  async #dropReferences(node: GraphNode, uids: readonly string[]): Promise<void> {
    const { ownerReferences = [] } = node.object.metadata;
    try {
      await this.#patchReferences(node, {
        strategic: uids.map((uid) => ({ $patch: 'delete', uid })),
        whole: ownerReferences.filter(({ uid }) => !uids.includes(uid)),
      });
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error;
    }
  }

  /**
   * Writes the whole list of references of a custom object, on the condition that it has not changed. Custom kinds have
   * no strategic patches.
   */
  async #patchReferences(
    { type, object }: GraphNode,
    { strategic, whole }: { readonly strategic: readonly object[]; readonly whole: readonly OwnerReference[] },
  ): Promise<void> {
    const { uid, resourceVersion } = object.metadata;
    const served = this.#servedOf(type);
    const { client } = this.#options;
    if (served === undefined)
      await client.patch(type, keyOf(object), {
        type: 'strategic',
        body: { metadata: { uid, ownerReferences: strategic } },
      });
    else
      await client.patch(served, keyOf(object), {
        type: 'merge',
        body: { metadata: { uid, resourceVersion, ownerReferences: whole } },
      });
  }

  async #removeFinalizer({ type, object }: GraphNode, finalizer: string): Promise<void> {
    const { finalizers = [], resourceVersion, uid } = object.metadata;
    if (!finalizers.includes(finalizer)) return;
    await this.#options.client.patch(this.#servedOf(type) ?? type, keyOf(object), {
      type: 'merge',
      body: { metadata: { uid, resourceVersion, finalizers: finalizers.filter((each) => each !== finalizer) } },
    });
  }
}
