import type { Namespace } from '../../../api/core/namespace.ts';
import type { Node, NodeCondition } from '../../../api/core/node.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { DeviceClass } from '../../../api/resource/device-class.ts';
import type { ResourceClaim } from '../../../api/resource/resource-claim.ts';
import type { ResourceSlice } from '../../../api/resource/resource-slice.ts';
import type { CSIDriver } from '../../../api/storage/csi-driver.ts';
import type { CSINode } from '../../../api/storage/csi-node.ts';
import type { CSIStorageCapacity } from '../../../api/storage/csi-storage-capacity.ts';
import type { StorageClass } from '../../../api/storage/storage-class.ts';
import type { VolumeAttachment } from '../../../api/storage/volume-attachment.ts';
import { podInfoOf } from './pod-info.ts';
import type { Resources } from './resources.ts';

/** The kinds whose changes may make an unschedulable pod schedulable. */
export interface EventObjects {
  readonly Node: Node;
  readonly Pod: Pod;
  readonly Namespace: Namespace;
  readonly PersistentVolumeClaim: PersistentVolumeClaim;
  readonly PersistentVolume: PersistentVolume;
  readonly StorageClass: StorageClass;
  readonly CSINode: CSINode;
  readonly CSIDriver: CSIDriver;
  readonly CSIStorageCapacity: CSIStorageCapacity;
  readonly VolumeAttachment: VolumeAttachment;
  readonly ResourceClaim: ResourceClaim;
  readonly ResourceSlice: ResourceSlice;
  readonly DeviceClass: DeviceClass;
}

/** Upstream's action types. `Update` is any change that has no type of its own. */
export type Action =
  | 'Add'
  | 'Delete'
  | 'Update'
  | 'UpdateNodeAllocatable'
  | 'UpdateNodeLabel'
  | 'UpdateNodeTaint'
  | 'UpdateNodeCondition'
  | 'UpdateNodeAnnotation'
  | 'UpdateNodeDeclaredFeature'
  | 'UpdatePodLabel'
  | 'UpdatePodScaleDown'
  | 'UpdatePodToleration'
  | 'UpdatePodSchedulingGatesEliminated';

export interface EventOf<R extends keyof EventObjects> {
  readonly resource: R;
  /** The actions of the event. There is at least one. */
  readonly actions: readonly Action[];
  /** The object before the change. It is absent if the object was added. */
  readonly before?: EventObjects[R];
  /** The object after the change. It is absent if the object was deleted. */
  readonly after?: EventObjects[R];
}
export type ClusterEvent = { [R in keyof EventObjects]: EventOf<R> }[keyof EventObjects];

/** The events that may help a pod that the plugin rejected. Without `mayHelp`, every event of these actions may. */
export interface Hint<R extends keyof EventObjects> {
  readonly actions: readonly Action[];
  readonly mayHelp?: (pod: Pod, event: EventOf<R>) => boolean;
}
const anyChange = [{ actions: ['Add', 'Update', 'Delete'] }] as const;
export type Hints = { readonly [R in keyof EventObjects]?: readonly Hint<R>[] };

/** Hints for every event except status changes of the pod itself, which each attempt causes. */
export const everyEvent: Hints = {
  Node: [
    {
      actions: [
        'Add',
        'UpdateNodeAllocatable',
        'UpdateNodeLabel',
        'UpdateNodeTaint',
        'UpdateNodeCondition',
        'UpdateNodeAnnotation',
        'UpdateNodeDeclaredFeature',
      ],
    },
  ],
  Pod: [
    {
      actions: [
        'Add',
        'Delete',
        'UpdatePodLabel',
        'UpdatePodScaleDown',
        'UpdatePodToleration',
        'UpdatePodSchedulingGatesEliminated',
      ],
    },
  ],
  ...{ Namespace: anyChange, PersistentVolumeClaim: anyChange, PersistentVolume: anyChange, StorageClass: anyChange },
  ...{ CSINode: anyChange, CSIDriver: anyChange, CSIStorageCapacity: anyChange, VolumeAttachment: anyChange },
  ...{ ResourceClaim: anyChange, ResourceSlice: anyChange, DeviceClass: anyChange },
};

/** Whether the plugin has a hint for this kind of event, for any pod. */
export function hasHintFor(hints: Hints, { resource, actions }: ClusterEvent): boolean {
  return (hints[resource] ?? []).some((hint) => actions.some((action) => hint.actions.includes(action)));
}

/** Whether a hint of the plugin says that the event may help the pod. */
export function mayHelp<R extends keyof EventObjects>(hints: Hints, pod: Pod, event: EventOf<R>): boolean {
  const list = hints[event.resource] as readonly Hint<R>[] | undefined;
  if (list === undefined) return false;
  return list.some(
    (hint) =>
      event.actions.some((action) => hint.actions.includes(action)) &&
      (hint.mayHelp === undefined || hint.mayHelp(pod, event)),
  );
}

/** Returns the changes of a node that matter to plugins. The list is empty for a heartbeat. */
export function nodeActions(before: Node, after: Node): Action[] {
  const actions = new Set<Action>();
  // Cordoning helps no pod; uncordoning is like the removal of a taint.
  if (before.spec?.unschedulable === true && after.spec?.unschedulable !== true) actions.add('UpdateNodeTaint');
  if (!sameJson(before.spec?.taints, after.spec?.taints)) actions.add('UpdateNodeTaint');
  if (!sameRecord(before.status?.allocatable, after.status?.allocatable)) actions.add('UpdateNodeAllocatable');
  if (!sameRecord(before.metadata.labels, after.metadata.labels)) actions.add('UpdateNodeLabel');
  if (!sameRecord(conditionsOf(before), conditionsOf(after))) actions.add('UpdateNodeCondition');
  if (!sameRecord(before.metadata.annotations, after.metadata.annotations)) actions.add('UpdateNodeAnnotation');
  if (!sameJson(before.status?.declaredFeatures, after.status?.declaredFeatures))
    actions.add('UpdateNodeDeclaredFeature');
  return [...actions];
}

/** Returns the changes of a pod that matter to plugins, or only `Update` for any other change. */
export function podActions(before: Pod, after: Pod): Action[] {
  const actions: Action[] = [];
  if (!sameRecord(before.metadata.labels, after.metadata.labels)) actions.push('UpdatePodLabel');
  if (shrank(podInfoOf(before).requested, podInfoOf(after).requested)) actions.push('UpdatePodScaleDown');
  if ((before.spec.schedulingGates ?? []).length > 0 && (after.spec.schedulingGates ?? []).length === 0)
    actions.push('UpdatePodSchedulingGatesEliminated');
  // Tolerations can only be added.
  if ((before.spec.tolerations ?? []).length !== (after.spec.tolerations ?? []).length)
    actions.push('UpdatePodToleration');
  return actions.length === 0 ? ['Update'] : actions;
}

function shrank(before: Readonly<Resources>, after: Readonly<Resources>): boolean {
  if (
    after.cpuMillis < before.cpuMillis ||
    after.memoryBytes < before.memoryBytes ||
    after.ephemeralStorageBytes < before.ephemeralStorageBytes
  )
    return true;
  for (const [name, amount] of before.scalars) if ((after.scalars.get(name) ?? 0) < amount) return true;
  return false;
}

function conditionsOf({ status }: Node): Record<string, string> {
  return Object.fromEntries(
    (status?.conditions ?? []).map((condition: NodeCondition) => [condition.type, condition.status]),
  );
}

export function sameRecord(
  left: Readonly<Record<string, string>> = {},
  right: Readonly<Record<string, string>> = {},
): boolean {
  if (left === right) return true;
  const names = Object.keys(left);
  return names.length === Object.keys(right).length && names.every((name) => left[name] === right[name]);
}

function sameJson(left: readonly unknown[] = [], right: readonly unknown[] = []): boolean {
  return (
    left === right ||
    (left.length === right.length && (left.length === 0 || JSON.stringify(left) === JSON.stringify(right)))
  );
}
