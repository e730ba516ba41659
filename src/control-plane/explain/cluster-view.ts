import type { DaemonSet } from '../../api/apps/daemon-set.ts';
import type { Deployment } from '../../api/apps/deployment.ts';
import type { ReplicaSet } from '../../api/apps/replica-set.ts';
import type { StatefulSet } from '../../api/apps/stateful-set.ts';
import type { Job } from '../../api/batch/job.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import type { Event } from '../../api/core/event.ts';
import type { Namespace } from '../../api/core/namespace.ts';
import type { Node } from '../../api/core/node.ts';
import type { PersistentVolumeClaim } from '../../api/core/persistent-volume-claim.ts';
import type { PersistentVolume } from '../../api/core/persistent-volume.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { Service } from '../../api/core/service.ts';
import type { PodExplanation } from '../../api/explanation/explanation.ts';
import type { PodDisruptionBudget } from '../../api/policy/pod-disruption-budget.ts';
import type { DeviceClass } from '../../api/resource/device-class.ts';
import type { ResourceClaim } from '../../api/resource/resource-claim.ts';
import type { ResourceSlice } from '../../api/resource/resource-slice.ts';
import type { CSIDriver } from '../../api/storage/csi-driver.ts';
import type { CSIStorageCapacity } from '../../api/storage/csi-storage-capacity.ts';
import type { CSINode } from '../../api/storage/csi-node.ts';
import type { StorageClass } from '../../api/storage/storage-class.ts';
import type { VolumeAttachment } from '../../api/storage/volume-attachment.ts';

/** A snapshot of the objects that the user may read. */
export interface ClusterView {
  readonly pods: readonly Pod[];
  readonly nodes: readonly Node[];
  readonly events: readonly Event[];
  readonly claims: readonly PersistentVolumeClaim[];
  readonly volumes: readonly PersistentVolume[];
  readonly storageClasses: readonly StorageClass[];
  readonly csiNodes: readonly CSINode[];
  readonly csiDrivers: readonly CSIDriver[];
  readonly storageCapacities: readonly CSIStorageCapacity[];
  readonly attachments: readonly VolumeAttachment[];
  readonly namespaces: readonly Namespace[];
  readonly services: readonly Service[];
  readonly budgets: readonly PodDisruptionBudget[];
  readonly deployments: readonly Deployment[];
  readonly replicaSets: readonly ReplicaSet[];
  readonly statefulSets: readonly StatefulSet[];
  readonly daemonSets: readonly DaemonSet[];
  readonly jobs: readonly Job[];
  readonly resourceClaims: readonly ResourceClaim[];
  readonly resourceSlices: readonly ResourceSlice[];
  readonly deviceClasses: readonly DeviceClass[];
  /** The names of lists that could not be read; their objects may still exist. */
  readonly unseen: ReadonlySet<string>;
  /** Explanations from the agents of nodes, by `namespace/name` of the pod. */
  readonly agents: ReadonlyMap<string, PodExplanation>;
}

export const emptyView: ClusterView = {
  pods: [],
  nodes: [],
  events: [],
  claims: [],
  volumes: [],
  storageClasses: [],
  csiNodes: [],
  csiDrivers: [],
  storageCapacities: [],
  attachments: [],
  namespaces: [],
  services: [],
  budgets: [],
  deployments: [],
  replicaSets: [],
  statefulSets: [],
  daemonSets: [],
  jobs: [],
  resourceClaims: [],
  resourceSlices: [],
  deviceClasses: [],
  unseen: new Set(),
  agents: new Map(),
};

export const podKeyOf = ({ metadata }: ApiObject): string => `${metadata.namespace}/${metadata.name}`;

/** When an event last happened, for events of either API. */
export function eventTimeMs(event: Event): number {
  return timeMs(event.series?.lastObservedTime ?? event.lastTimestamp ?? event.eventTime ?? event.firstTimestamp) ?? 0;
}

export function timeMs(text: string | undefined): number | undefined {
  const ms = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}

/** The latest event of an object, of those that `isMeant`. */
export function lastEvent(
  { events }: Pick<ClusterView, 'events'>,
  uid: string,
  isMeant: (event: Event) => boolean,
): Event | undefined {
  let last: Event | undefined;
  for (const event of events) {
    if (event.involvedObject.uid !== uid || !isMeant(event)) continue;
    if (last === undefined || eventTimeMs(event) >= eventTimeMs(last)) last = event;
  }
  return last;
}
