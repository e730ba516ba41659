import type { Informers } from '../../../api/client/informer.ts';
import type { ApiObject, ResourceType } from '../../../api/client/resource-type.ts';
import {
  csiDrivers,
  csiNodes,
  csiStorageCapacities,
  deviceClasses,
  namespaces,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  resourceClaims,
  resourceSlices,
  storageClasses,
  volumeAttachments,
} from '../../../api/client/resource-types.ts';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isTerminalPod, podPriority } from '../../../api/pod.ts';
import { nodeActions, podActions, sameRecord } from '../framework/cluster-event.ts';
import type { Action, ClusterEvent, EventObjects, EventOf } from '../framework/cluster-event.ts';
import type { SchedulerContext } from './context.ts';

const isAssigned = ({ spec }: Pod): boolean => (spec.nodeName ?? '') !== '';
const nominatedNode = ({ status }: Pod): string => status?.nominatedNodeName ?? '';

/** Updates cache and queue from the watches. Each handler is synchronous, so both are consistent when it returns. */
export function followCluster(context: SchedulerContext, informers: Informers): () => void {
  const ends = [
    followPods(context),
    followNodes(context, informers),
    follow(context, informers, { type: persistentVolumeClaims, resource: 'PersistentVolumeClaim' }),
    follow(context, informers, { type: persistentVolumes, resource: 'PersistentVolume' }),
    follow(context, informers, { type: storageClasses, resource: 'StorageClass' }),
    follow(context, informers, { type: csiNodes, resource: 'CSINode' }),
    follow(context, informers, { type: csiDrivers, resource: 'CSIDriver' }),
    follow(context, informers, { type: csiStorageCapacities, resource: 'CSIStorageCapacity' }),
    follow(context, informers, { type: volumeAttachments, resource: 'VolumeAttachment' }),
    follow(context, informers, { type: resourceClaims, resource: 'ResourceClaim' }),
    follow(context, informers, { type: resourceSlices, resource: 'ResourceSlice' }),
    follow(context, informers, { type: deviceClasses, resource: 'DeviceClass' }),
    followNamespaces(context, informers),
  ];
  return () => ends.forEach((end) => end());
}

function followPods({ pods, cache, queue, config }: SchedulerContext): () => void {
  const isOurs = (pod: Pod): boolean => config.profiles.has(pod.spec.schedulerName ?? '');
  const settle = (pod: Pod): void => {
    queue.delete(pod.metadata.uid);
    cache.nominator.remove(pod.metadata.uid);
  };
  const arrive = (pod: Pod): void => {
    cache.setPod(pod);
    settle(pod);
    queue.wake({ resource: 'Pod', actions: ['Add'], after: pod });
  };
  /** A freed reservation helps only pods of at most its priority, because only those had to respect it. */
  const wakeUpTo = (priority: number, event: ClusterEvent): void =>
    queue.wake(event, (other) => podPriority(other) <= priority);
  /** Handles the end of a pod: other pods may fit into the room that it occupied or that was reserved for it. */
  const leave = (pod: Pod): void => {
    const { uid } = pod.metadata;
    const placed = cache.placedPod(uid) ?? pod;
    cache.removePod(uid);
    const was = nominatedNode(pod);
    settle(pod);
    const event: ClusterEvent = { resource: 'Pod', actions: ['Delete'], before: placed };
    if (isAssigned(placed)) queue.wake(event);
    else if (was !== '') wakeUpTo(podPriority(pod), event);
  };
  const changePending = (before: Pod, after: Pod): void => {
    const { uid, deletionTimestamp } = after.metadata;
    if (cache.isAssumed(uid)) {
      // The pod is being bound. The bind will fail, so its room is freed now.
      if (deletionTimestamp !== undefined && before.metadata.deletionTimestamp === undefined) leave(after);
      return;
    }
    queue.update(before, after);
    cache.nominator.update(before, after);
    const was = nominatedNode(before);
    if (was !== '' && was !== nominatedNode(after))
      wakeUpTo(podPriority(before), { resource: 'Pod', actions: ['Delete'], before });
  };
  return pods.addHandlers({
    onAdd: (pod) => {
      if (isTerminalPod(pod)) return;
      if (isAssigned(pod)) return arrive(pod);
      if (!isOurs(pod)) return;
      queue.add(pod);
      cache.nominator.nominate(pod);
    },
    onUpdate: (before, after) => {
      if (isTerminalPod(after)) {
        if (!isTerminalPod(before)) leave(before);
      } else if (isAssigned(before)) {
        cache.setPod(after);
        queue.wake({ resource: 'Pod', actions: podActions(before, after), before, after });
      } else if (isAssigned(after)) arrive(after);
      else if (isOurs(after)) changePending(before, after);
    },
    // A terminal pod was removed from the cache earlier.
    onDelete: (pod) => {
      if (!isTerminalPod(pod) || cache.placedPod(pod.metadata.uid) !== undefined) leave(pod);
    },
  });
}

function followNodes({ cache, queue }: SchedulerContext, informers: Informers): () => void {
  return informers.for<Node>(nodes).addHandlers({
    onAdd: (node) => {
      cache.setNode(node);
      queue.wake({ resource: 'Node', actions: ['Add'], after: node });
    },
    onUpdate: (before, after) => {
      cache.setNode(after);
      const actions = nodeActions(before, after);
      if (actions.length > 0) queue.wake({ resource: 'Node', actions, before, after });
    },
    onDelete: (node) => {
      cache.removeNode(node.metadata.name);
      queue.wake({ resource: 'Node', actions: ['Delete'], before: node });
    },
  });
}

/** Follows namespaces. Only changes of their labels matter. */
function followNamespaces({ queue }: SchedulerContext, informers: Informers): () => void {
  return informers.for(namespaces).addHandlers({
    onAdd: (after) => queue.wake({ resource: 'Namespace', actions: ['Add'], after }),
    onUpdate: (before, after) => {
      if (!sameRecord(before.metadata.labels, after.metadata.labels))
        queue.wake({ resource: 'Namespace', actions: ['Update'], before, after });
    },
    onDelete: (before) => queue.wake({ resource: 'Namespace', actions: ['Delete'], before }),
  });
}

type PlainResource = Exclude<keyof EventObjects, 'Pod' | 'Node' | 'Namespace'>;

function follow<R extends PlainResource>(
  { queue }: SchedulerContext,
  informers: Informers,
  { type, resource }: { readonly type: ResourceType<EventObjects[R] & ApiObject>; readonly resource: R },
): () => void {
  const wake = (action: Action, before?: EventObjects[R], after?: EventObjects[R]): void => {
    const event: EventOf<R> = {
      resource,
      actions: [action],
      ...(before !== undefined && { before }),
      ...(after !== undefined && { after }),
    };
    // In the union, this resource name always comes with these objects.
    queue.wake(event as unknown as ClusterEvent);
  };
  return informers.for<EventObjects[R] & ApiObject>(type).addHandlers({
    onAdd: (after) => wake('Add', undefined, after),
    onUpdate: (before, after) => wake('Update', before, after),
    onDelete: (before) => wake('Delete', before),
  });
}
