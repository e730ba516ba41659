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
  /** Undefined for an unknown namespace. */
  namespaceLabels(name: string): Labels | undefined;
  services(namespace: string): Iterable<Service>;
  replicaSet(namespace: string, name: string): ReplicaSet | undefined;
  podDisruptionBudgets(): Iterable<PodDisruptionBudget>;
  resourceClaim(namespace: string, name: string): ResourceClaim | undefined;
  /** Devices that allocated claims have. */
  devicesInUse(): DevicesInUse;
  devicePools(): DevicePools;
  extendedResources(): ExtendedResourceClasses;
  /** A claim for the pod's extended resources that an earlier attempt to bind it created and did not remove. */
  extendedClaim(podUid: string): ResourceClaim | undefined;
  deviceClass(name: string): DeviceClass | undefined;
}

/**
 * The state for one decision. The cache itself implements it: a decision is one synchronous turn, so nothing can change
 * meanwhile and no copy is needed.
 */
export interface Snapshot {
  readonly objects: ClusterObjects;
  /** Zones take turns (upstream: node_tree.go); the order changes only with the set of nodes. */
  nodes(): readonly NodeInfo[];
  node(name: string): NodeInfo | undefined;
  nodesWithAffinity(): Iterable<NodeInfo>;
  nodesWithRequiredAntiAffinity(): Iterable<NodeInfo>;
  /**
   * How many pods of the namespace the selector selects on each node, those on their way out not counted. Nodes without
   * any are absent. To be read within the turn.
   */
  matching(namespace: string, selector: KeyedMatcher): ReadonlyMap<NodeInfo, number>;
  /** On how many nodes the image is. */
  imageSpread(image: string): number;
  /** `namespace/name` of a claim. */
  isClaimUsed(key: string): boolean;
  /** Pods that were promised this node while their victims leave. */
  nominatedPods(nodeName: string): Iterable<PodInfo>;
}
