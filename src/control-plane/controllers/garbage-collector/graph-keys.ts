import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import type { ObjectKey, ResourceType } from '../../../api/client/resource-type.ts';
import type { OwnerReference } from '../../../api/core/meta.ts';
import { FOREGROUND_FINALIZER, ORPHAN_FINALIZER } from './judge-owners.ts';
import type { GraphNode } from './owner-graph.ts';

/** The name of a resource, with which the keys of its objects begin. */
export const resourceKey = ({ group, plural }: Pick<ResourceType, 'group' | 'plural'>): string => `${group}|${plural}`;
export const keyFor = (type: ResourceType, key: ObjectKey): string => `${resourceKey(type)}|${formatKey(key)}`;
export const queueKey = ({ type, object }: GraphNode): string => keyFor(type, keyOf(object));

/** The key of the object that a reference of `dependent` names. */
export function ownerKeyOf(
  { namespaced }: ResourceType,
  { metadata }: GraphNode['object'],
  { name }: Pick<OwnerReference, 'name'>,
): ObjectKey {
  return { namespace: namespaced ? metadata.namespace : '', name };
}

/** Whether the object still blocks the deletion of this owner. */
export function isHeldUpBy({ metadata }: GraphNode['object'], { uid }: OwnerReference): boolean {
  return (metadata.ownerReferences ?? []).some((each) => each.uid === uid && each.blockOwnerDeletion === true);
}

/** Whether the object is terminating with a finalizer of the garbage collector. */
export function isLeaving({ metadata }: GraphNode['object']): boolean {
  return (
    metadata.deletionTimestamp !== undefined &&
    (metadata.finalizers ?? []).some((each) => each === FOREGROUND_FINALIZER || each === ORPHAN_FINALIZER)
  );
}
