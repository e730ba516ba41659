import type { ReplicaSet } from '../../../api/apps/replica-set.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import type { Service } from '../../../api/core/service.ts';
import type { PodDisruptionBudget } from '../../../api/policy/pod-disruption-budget.ts';
import type { DeviceClass } from '../../../api/resource/device-class.ts';
import type { ResourceClaim } from '../../../api/resource/resource-claim.ts';
import type { Labels } from '../../../api/label-requirement.ts';
import type { CSIDriver } from '../../../api/storage/csi-driver.ts';
import type { CSINode } from '../../../api/storage/csi-node.ts';
import type { CSIStorageCapacity } from '../../../api/storage/csi-storage-capacity.ts';
import type { StorageClass } from '../../../api/storage/storage-class.ts';
import type { VolumeAttachment } from '../../../api/storage/volume-attachment.ts';
import type { DevicesInUse } from '../devices/device-use.ts';
import type { ExtendedResourceClasses } from '../devices/extended-resources.ts';
import type { DevicePools } from '../devices/slice-index.ts';
import type { KeyedMatcher } from './label-matcher.ts';
import type { NodeInfo } from './node-info.ts';
import type { PodInfo } from './pod-info.ts';

/** The objects, other than pods and nodes, that decisions read. */
export interface ClusterObjects {
  claim(namespace: string, name: string): PersistentVolumeClaim | undefined;
  volume(name: string): PersistentVolume | undefined;
  volumes(): Iterable<PersistentVolume>;
  storageClass(name: string): StorageClass | undefined;
  csiNode(nodeName: string): CSINode | undefined;
  csiDriver(name: string): CSIDriver | undefined;
  storageCapacities(): Iterable<CSIStorageCapacity>;
  volumeAttachments(): Iterable<VolumeAttachment>;
  namespaces(): Iterable<{ readonly name: string; readonly labels: Labels }>;
  /** Returns the labels of a namespace, or undefined if it does not exist. */
  namespaceLabels(name: string): Labels | undefined;
  services(namespace: string): Iterable<Service>;
  replicaSet(namespace: string, name: string): ReplicaSet | undefined;
  podDisruptionBudgets(): Iterable<PodDisruptionBudget>;
  resourceClaim(namespace: string, name: string): ResourceClaim | undefined;
  /** Returns the devices of allocated claims. */
  devicesInUse(): DevicesInUse;
  devicePools(): DevicePools;
  extendedResources(): ExtendedResourceClasses;
  /** Returns a claim for the pod's extended resources that is left over from a failed attempt to bind the pod. */
  extendedClaim(podUid: string): ResourceClaim | undefined;
  deviceClass(name: string): DeviceClass | undefined;
}

/**
 * The cluster state for one decision. The cache itself implements it: a decision is one synchronous turn, so nothing
 * can change during it and no copy is needed.
 */
export interface Snapshot {
  readonly objects: ClusterObjects;
  /**
   * Returns the nodes, alternating between zones (upstream: node_tree.go). The order changes only if the set of nodes
   * changes.
   */
  nodes(): readonly NodeInfo[];
  node(name: string): NodeInfo | undefined;
  nodesWithAffinity(): Iterable<NodeInfo>;
  nodesWithRequiredAntiAffinity(): Iterable<NodeInfo>;
  /**
   * Returns how many pods of the namespace match the selector on each node, without terminating pods. Nodes without
   * matches are absent. Callers read the map within the same turn.
   */
  matching(namespace: string, selector: KeyedMatcher): ReadonlyMap<NodeInfo, number>;
  /** Returns the number of nodes that have the image. */
  imageSpread(image: string): number;
  /** Whether a pod uses the claim; `key` is `namespace/name`. */
  isClaimUsed(key: string): boolean;
  /** Returns the pods nominated for this node, whose victims are still terminating. */
  nominatedPods(nodeName: string): Iterable<PodInfo>;
}
