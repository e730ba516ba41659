import type { Informer, Informers } from '../../../api/client/informer.ts';
import type { ObjectIndex } from '../../../api/client/object-store.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import {
  csiDrivers,
  csiNodes,
  csiStorageCapacities,
  deviceClasses,
  namespaces,
  persistentVolumeClaims,
  persistentVolumes,
  podDisruptionBudgets,
  replicaSets,
  resourceClaims,
  resourceSlices,
  services,
  storageClasses,
  volumeAttachments,
} from '../../../api/client/resource-types.ts';
import type { ReplicaSet } from '../../../api/apps/replica-set.ts';
import type { Namespace } from '../../../api/core/namespace.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import type { Service } from '../../../api/core/service.ts';
import type { PodDisruptionBudget } from '../../../api/policy/pod-disruption-budget.ts';
import type { DeviceClass } from '../../../api/resource/device-class.ts';
import type { ResourceClaim } from '../../../api/resource/resource-claim.ts';
import type { ResourceSlice } from '../../../api/resource/resource-slice.ts';
import type { Labels } from '../../../api/label-requirement.ts';
import type { CSIDriver } from '../../../api/storage/csi-driver.ts';
import type { CSINode } from '../../../api/storage/csi-node.ts';
import type { CSIStorageCapacity } from '../../../api/storage/csi-storage-capacity.ts';
import type { StorageClass } from '../../../api/storage/storage-class.ts';
import type { VolumeAttachment } from '../../../api/storage/volume-attachment.ts';
import { noLabels } from '../framework/label-matcher.ts';
import type { DevicesInUse } from '../devices/device-use.ts';
import { DeviceUse } from '../devices/device-use.ts';
import { extendedClaimOwner } from '../devices/extended-claim.ts';
import { ExtendedResourceIndex } from '../devices/extended-resources.ts';
import type { ExtendedResourceClasses } from '../devices/extended-resources.ts';
import { SliceIndex } from '../devices/slice-index.ts';
import type { DevicePools } from '../devices/slice-index.ts';
import type { ClusterObjects } from '../framework/snapshot.ts';
import { AssumedClaims } from './assumed-claims.ts';

/**
 * Objects with a decided change that the API does not show yet. The decision counts until the object changes in the
 * API, whatever client changed it.
 */
class Assumed<T extends ApiObject> {
  readonly #objects = new Map<string, { readonly object: T; readonly basedOn: string | undefined }>();

  assume(object: T): void {
    this.#objects.set(formatKey(keyOf(object)), { object, basedOn: object.metadata.resourceVersion });
  }

  revert(object: T): void {
    this.#objects.delete(formatKey(keyOf(object)));
  }

  over(actual: T | undefined): T | undefined {
    if (actual === undefined || this.#objects.size === 0) return actual;
    const assumed = this.#objects.get(formatKey(keyOf(actual)));
    if (assumed === undefined) return actual;
    if (assumed.basedOn === actual.metadata.resourceVersion) return assumed.object;
    this.revert(actual);
    return actual;
  }
}

/** The objects of the informers, overlaid with decided changes of volumes and claims. */
export class LiveClusterObjects implements ClusterObjects {
  readonly claims: Informer<PersistentVolumeClaim>;
  readonly #volumes: Informer<PersistentVolume>;
  readonly #storageClasses: Informer<StorageClass>;
  readonly #csiNodes: Informer<CSINode>;
  readonly #csiDrivers: Informer<CSIDriver>;
  readonly #storageCapacities: Informer<CSIStorageCapacity>;
  readonly #attachments: Informer<VolumeAttachment>;
  readonly #namespaces: Informer<Namespace>;
  readonly #services: Informer<Service>;
  readonly #replicaSets: Informer<ReplicaSet>;
  readonly #budgets: Informer<PodDisruptionBudget>;
  readonly #resourceClaims: Informer<ResourceClaim>;
  readonly #resourceSlices: Informer<ResourceSlice>;
  readonly #deviceClasses: Informer<DeviceClass>;
  readonly #deviceUse = new DeviceUse();
  readonly #slices = new SliceIndex();
  readonly #extendedResources = new ExtendedResourceIndex();
  readonly #extendedClaims: ObjectIndex<ResourceClaim>;
  readonly assumedResourceClaims = new AssumedClaims();
  readonly #assumedVolumes = new Assumed<PersistentVolume>();
  readonly #assumedClaims = new Assumed<PersistentVolumeClaim>();

  constructor(informers: Informers) {
    this.claims = informers.for(persistentVolumeClaims);
    this.#volumes = informers.for(persistentVolumes);
    this.#storageClasses = informers.for(storageClasses);
    this.#csiNodes = informers.for(csiNodes);
    this.#csiDrivers = informers.for(csiDrivers);
    this.#storageCapacities = informers.for(csiStorageCapacities);
    this.#attachments = informers.for(volumeAttachments);
    this.#namespaces = informers.for(namespaces);
    this.#services = informers.for(services);
    this.#replicaSets = informers.for(replicaSets);
    this.#budgets = informers.for(podDisruptionBudgets);
    this.#resourceClaims = informers.for(resourceClaims);
    this.#resourceSlices = informers.for(resourceSlices);
    this.#deviceClasses = informers.for(deviceClasses);
    this.#resourceClaims.addHandlers({
      onAdd: (claim) => {
        this.#deviceUse.set(undefined, claim);
        // A claim that this scheduler created is known from now on.
        this.assumedResourceClaims.over(claim);
      },
      onUpdate: (before, after) => this.#deviceUse.set(before, after),
      onDelete: (claim) => this.#deviceUse.set(claim, undefined),
    });
    this.#extendedClaims = this.#resourceClaims.index('extendedResourcesOfPod', (claim) => {
      const owner = extendedClaimOwner(claim);
      return owner === undefined ? [] : [owner];
    });
    this.#deviceClasses.addHandlers({
      onAdd: (deviceClass) => this.#extendedResources.set(undefined, deviceClass),
      onUpdate: (before, after) => this.#extendedResources.set(before, after),
      onDelete: (deviceClass) => this.#extendedResources.set(deviceClass, undefined),
    });
    this.#resourceSlices.addHandlers({
      onAdd: (slice) => this.#slices.set(undefined, slice),
      onUpdate: (before, after) => this.#slices.set(before, after),
      onDelete: (slice) => this.#slices.set(slice, undefined),
    });
  }

  /** Resolves when all informers have their first list. */
  async whenSynced(): Promise<void> {
    const all = [
      this.claims,
      this.#volumes,
      this.#storageClasses,
      this.#csiNodes,
      this.#csiDrivers,
      this.#storageCapacities,
      this.#attachments,
      this.#namespaces,
      this.#services,
      this.#replicaSets,
      this.#budgets,
      this.#resourceClaims,
      this.#resourceSlices,
      this.#deviceClasses,
    ];
    await Promise.all(all.map((informer) => informer.whenSynced()));
  }

  claim(namespace: string, name: string): PersistentVolumeClaim | undefined {
    return this.#assumedClaims.over(this.claims.get({ namespace, name }));
  }

  volume(name: string): PersistentVolume | undefined {
    return this.#assumedVolumes.over(this.#volumes.get({ namespace: '', name }));
  }

  *volumes(): Iterable<PersistentVolume> {
    for (const volume of this.#volumes.list()) yield this.#assumedVolumes.over(volume) ?? volume;
  }

  storageClass(name: string): StorageClass | undefined {
    return this.#storageClasses.get({ namespace: '', name });
  }

  csiNode(nodeName: string): CSINode | undefined {
    return this.#csiNodes.get({ namespace: '', name: nodeName });
  }

  csiDriver(name: string): CSIDriver | undefined {
    return this.#csiDrivers.get({ namespace: '', name });
  }

  storageCapacities(): Iterable<CSIStorageCapacity> {
    return this.#storageCapacities.list();
  }

  volumeAttachments(): Iterable<VolumeAttachment> {
    return this.#attachments.list();
  }

  namespaces(): Iterable<{ readonly name: string; readonly labels: Labels }> {
    return this.#namespaces
      .list()
      .map(({ metadata }) => ({ name: metadata.name, labels: metadata.labels ?? noLabels }));
  }

  namespaceLabels(name: string): Labels | undefined {
    const namespace = this.#namespaces.get({ namespace: '', name });
    return namespace === undefined ? undefined : (namespace.metadata.labels ?? noLabels);
  }

  services(namespace: string): Iterable<Service> {
    return this.#services.list(namespace);
  }

  replicaSet(namespace: string, name: string): ReplicaSet | undefined {
    return this.#replicaSets.get({ namespace, name });
  }

  podDisruptionBudgets(): Iterable<PodDisruptionBudget> {
    return this.#budgets.list();
  }

  resourceClaim(namespace: string, name: string): ResourceClaim | undefined {
    return this.assumedResourceClaims.over(this.#resourceClaims.get({ namespace, name }));
  }

  /**
   * Returns the cached devices in use, overlaid with the decided ones. The cost is proportional to the number of
   * running binds.
   */
  devicesInUse(): DevicesInUse {
    const changes = [...this.assumedResourceClaims.changes((key) => this.#resourceClaims.get(key))];
    if (changes.length === 0) return this.#deviceUse;
    const use = new DeviceUse(this.#deviceUse);
    for (const { actual, assumed } of changes) use.set(actual, assumed);
    return use;
  }

  /** Calls `listener` after each change of a resource claim. Returns the function that unsubscribes. */
  onClaimChange(listener: () => void): () => void {
    return this.#resourceClaims.addHandlers({ onUpdate: listener, onDelete: listener });
  }

  devicePools(): DevicePools {
    return this.#slices;
  }

  extendedResources(): ExtendedResourceClasses {
    return this.#extendedResources;
  }

  extendedClaim(podUid: string): ResourceClaim | undefined {
    return this.#extendedClaims.get(podUid)[0];
  }

  deviceClass(name: string): DeviceClass | undefined {
    return this.#deviceClasses.get({ namespace: '', name });
  }

  /** Records decided objects. They name the version that they are based on. */
  assume(volumes: readonly PersistentVolume[], claims: readonly PersistentVolumeClaim[]): void {
    volumes.forEach((volume) => this.#assumedVolumes.assume(volume));
    claims.forEach((claim) => this.#assumedClaims.assume(claim));
  }

  revert(volumes: readonly PersistentVolume[], claims: readonly PersistentVolumeClaim[]): void {
    volumes.forEach((volume) => this.#assumedVolumes.revert(volume));
    claims.forEach((claim) => this.#assumedClaims.revert(claim));
  }
}
