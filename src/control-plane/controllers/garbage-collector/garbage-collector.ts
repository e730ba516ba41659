import { inBackground } from '../../../base/background.ts';
import type { Informer, InformerHandlers } from '../../../api/client/informer.ts';
import type { ApiObject, ResourceType } from '../../../api/client/resource-type.ts';
import type { OwnerReference } from '../../../api/core/meta.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import type { CustomKinds } from '../../controller-runtime/custom-kinds.ts';
import { createEventRecorder } from '../../controller-runtime/event-recorder.ts';
import { noOtherApis } from '../../controller-runtime/other-apis.ts';
import type { OtherApis } from '../../controller-runtime/other-apis.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { Collector } from './collector.ts';
import { followCustomKinds } from './follow-custom-kinds.ts';
import { followOtherKinds } from './follow-other-kinds.ts';
import { isHeldUpBy, isLeaving, keyFor, ownerKeyOf, queueKey, resourceKey } from './graph-keys.ts';
import { OtherOwners } from './other-owners.ts';
import { OwnerGraph } from './owner-graph.ts';
import type { GraphNode } from './owner-graph.ts';

/** The number of concurrent syncs (upstream: --concurrent-gc-syncs). */
const WORKERS = 20;
/** The same for one kind of another server. */
const OTHER_WORKERS = 4;

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
 * 3. Nothing is deleted while the first list of a new kind of this server is pending.
 * 4. The objects of other servers take part, as far as those answer. Each of their kinds has a queue of its own.
 */
export function createGarbageCollector(options: GarbageCollectorOptions): Controller {
  const { clock, log, client, otherApis = noOtherApis } = options;
  const graph = new OwnerGraph();
  const informers = options.types.map((type) => options.informers.for(type));
  for (const informer of informers) graph.add(informer);
  const queues = new Map<string, RateLimitingQueue>();
  const addKey = (key: string): void => (queues.get(key.split('|', 2).join('|')) ?? queue).add(key);
  const add = (node: GraphNode): void => addKey(queueKey(node));
  /** The objects of a kind take part from now on. Returns the function that ends it. */
  const join = (informer: Informer<ApiObject>, more?: InformerHandlers<ApiObject>): (() => void) => {
    graph.add(informer, more === undefined ? 'here' : 'elsewhere');
    const ends = [informer.addHandlers(handlersFor(informer.type, graph, addKey))];
    if (more !== undefined) ends.unshift(informer.addHandlers(more));
    // Objects with an owner of this kind could not be evaluated before.
    const judge = informer.whenSynced().then(() => graph.dependentsOfKind(informer.type).forEach(add));
    inBackground(log, `judge dependents of ${informer.type.kind}`, judge);
    return () => {
      for (const end of ends) end();
      graph.remove(informer.type);
    };
  };
  const follower = followCustomKinds(options, options.customKinds ?? noCustomKinds, join);
  const otherOwners = new OtherOwners(otherApis, clock);
  const newQueue = (name: string, workers: number): RateLimitingQueue =>
    new RateLimitingQueue({ name, clock, log, workers, sync: (key) => collector.sync(key) });
  const others = followOtherKinds(options, otherApis, {
    isTaken: (type) => graph.has(type),
    join: (informer) => {
      const name = resourceKey(informer.type);
      const ownQueue = newQueue('garbage-collector-aggregated', OTHER_WORKERS);
      queues.set(name, ownQueue);
      ownQueue.start();
      const forget = ({ metadata }: ApiObject): void => otherOwners.forget(metadata.uid);
      const leave = join(informer, { onUpdate: (_, after) => forget(after), onDelete: forget });
      return () => {
        leave();
        queues.delete(name);
        inBackground(log, `stop to collect ${name}`, ownQueue.stop());
      };
    },
  });
  const events = createEventRecorder({ client, clock, log, component: 'garbage-collector-controller' });
  const servedOf = (type: ResourceType): ResourceType | undefined => follower.servedOf(type);
  const collector = new Collector({ client, graph, events, otherOwners, others, servedOf, add });
  const queue = newQueue('garbage-collector', WORKERS);
  const ends = informers.map((informer) => informer.addHandlers(handlersFor(informer.type, graph, addKey)));
  const controller = runController({ name: 'garbage collector', log, queues: [queue], informers, ends });
  return {
    start: () => {
      follower.start();
      others.start();
      controller.start();
    },
    stop: async () => {
      await controller.stop();
      await others.stop();
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
  const wakeOwners = (object: GraphNode['object'], which: (reference: OwnerReference) => boolean): void => {
    for (const reference of (object.metadata.ownerReferences ?? []).filter(which)) {
      const owner = graph.typeOf(reference.apiVersion, reference.kind);
      if (owner !== undefined) addKey(keyFor(owner, ownerKeyOf(owner, object, reference)));
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
