import { nodeLabels, storageAnnotations } from '../../api/annotations.ts';
import { formatKey, keyOf } from '../../api/client/resource-type.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import { nodes, persistentVolumeClaims, persistentVolumes, storageClasses } from '../../api/client/resource-types.ts';
import type { Informer } from '../../api/client/informer.ts';
import type { PersistentVolumeClaim } from '../../api/core/persistent-volume-claim.ts';
import type { PersistentVolume } from '../../api/core/persistent-volume.ts';
import { quantityOf, quantityValue } from '../../api/quantity.ts';
import { isApiError } from '../../api/status/api-status-error.ts';
import { inBackground } from '../../base/background.ts';
import { errorMessage } from '../../base/errors.ts';
import type { Controller, ControllerOptions } from '../../control-plane/controller-runtime/controller.ts';
import { createEventRecorder } from '../../control-plane/controller-runtime/event-recorder.ts';
import type { EventRecorder } from '../../control-plane/controller-runtime/event-recorder.ts';
import { RateLimitingQueue } from '../../control-plane/controller-runtime/rate-limiting-queue.ts';
import { runController } from '../../control-plane/controller-runtime/run-controller.ts';
import { mayConcernNode, planClaim, VOLUME_FINALIZER, volumeFor } from './plan-claim.ts';
import type { ClaimPlan } from './plan-claim.ts';
import { isOwnVolume, planVolume } from './plan-volume.ts';
import type { VolumeDisk } from './volume-disk.ts';
import { PROVISIONER, volumeNameOf } from './volume-name.ts';

/** After this time an expansion that did not fit on the disk is tried again: no event reports free space. */
const NO_SPACE_RETRY_MS = 60_000;
const WORKERS = 4;

export interface ProvisionerOptions extends ControllerOptions {
  readonly nodeName: string;
  readonly disk: VolumeDisk;
}

interface Caches {
  readonly claims: Informer<PersistentVolumeClaim>;
  readonly volumes: Informer<PersistentVolume>;
}

/**
 * Makes, expands and removes the volumes of one node: directories on its disk, offered as PersistentVolumes of the kind
 * `local`. It does what external provisioner and resizer of a CSI driver do, with their events and annotations.
 */
export function createNodeDiskProvisioner(options: ProvisionerOptions): Controller {
  const { informers, clock, log } = options;
  const claims = informers.for(persistentVolumeClaims);
  const volumes = informers.for(persistentVolumes);
  const classes = informers.for(storageClasses);
  const pass = new ProvisionerPass(options, { claims, volumes });
  const base = { clock, log, workers: WORKERS };
  const claimQueue = new RateLimitingQueue({ ...base, name: 'node_disk_claims', sync: (key) => pass.syncClaim(key) });
  const volumeQueue = new RateLimitingQueue({
    ...base,
    name: 'node_disk_volumes',
    sync: (key) => pass.syncVolume(key),
  });
  const wakeClaim = (claim: PersistentVolumeClaim): void => {
    if (mayConcernNode(claim, options.nodeName)) claimQueue.add(formatKey(keyOf(claim)));
  };
  const wakeVolume = ({ metadata }: ApiObject): void => volumeQueue.add(metadata.name);
  const ends = [
    claims.addHandlers({ onAdd: wakeClaim, onUpdate: (_, after) => wakeClaim(after) }),
    volumes.addHandlers({ onAdd: wakeVolume, onUpdate: (_, after) => wakeVolume(after) }),
    // Claims that were created before their class.
    classes.addHandlers({
      onAdd: ({ provisioner }) => {
        if (provisioner === PROVISIONER) for (const claim of claims.list()) wakeClaim(claim);
      },
    }),
  ];
  const controller = runController({
    name: 'node disk provisioner',
    log,
    queues: [claimQueue, volumeQueue],
    informers: [claims, volumes, classes],
    ends,
  });
  return {
    start: () => {
      controller.start();
      inBackground(
        log,
        'look for directories without a volume',
        Promise.all([claims.whenSynced(), volumes.whenSynced()]).then(() => pass.tidyOrphans()),
      );
    },
    stop: () => controller.stop(),
  };
}

class ProvisionerPass {
  readonly #options: ProvisionerOptions;
  readonly #caches: Caches;
  readonly #recorder: EventRecorder;
  #hostname: string | undefined;

  constructor(options: ProvisionerOptions, caches: Caches) {
    this.#options = options;
    this.#caches = caches;
    this.#recorder = createEventRecorder({ ...options, component: `${PROVISIONER}_${options.nodeName}` });
  }

  async syncClaim(key: string): Promise<number | undefined> {
    const claim = this.#caches.claims.getByKey(key);
    if (claim === undefined) return undefined;
    const { informers, nodeName } = this.#options;
    const storageClass = informers.for(storageClasses).get({ namespace: '', name: claim.spec.storageClassName ?? '' });
    const hostname = await this.#findHostname();
    const bound = this.#caches.volumes.get({ namespace: '', name: claim.spec.volumeName ?? '' });
    const volume = bound !== undefined && this.#isOwn(bound, hostname) ? bound : undefined;
    const plan = planClaim(claim, { nodeName, hostname, storageClass, volume });
    switch (plan.kind) {
      case 'nothing':
        return undefined;
      case 'refuse':
        this.#warn(claim, provisioningFailed(claim, plan.reason));
        return undefined;
      case 'provision':
        // The plan needs both.
        if (storageClass === undefined || hostname === undefined) return undefined;
        return this.#provision(claim, plan, (path) => volumeFor(claim, { storageClass, hostname, path }));
      case 'expand':
        return this.#expand(claim, plan);
    }
  }

  async syncVolume(name: string): Promise<void> {
    const volume = this.#caches.volumes.get({ namespace: '', name });
    if (volume === undefined || !this.#isOwn(volume, await this.#findHostname())) return;
    const plan = planVolume(volume);
    if (plan === 'nothing') return;
    try {
      if (plan === 'remove') {
        await this.#removeDirectory(volume);
        if (volume.metadata.deletionTimestamp === undefined)
          await this.#options.client.delete(persistentVolumes, keyOf(volume), {
            preconditions: { uid: volume.metadata.uid },
          });
      }
      await this.#dropFinalizer(volume);
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error;
    }
  }

  /**
   * Directories without a volume. An empty one is left over when the program stopped after it created the directory and
   * before it created the volume: it is removed. One with data is kept, because restoring a backup of the store may
   * bring its volume back. This reads from the API server, because the cache may be late.
   */
  async tidyOrphans(): Promise<void> {
    const { disk, log } = this.#options;
    const claimed = new Set(this.#caches.claims.list().map(({ metadata }) => volumeNameOf(metadata.uid)));
    for (const name of await disk.list()) {
      if (claimed.has(name) || (await this.#exists(name)) || (await disk.removeEmpty(name))) continue;
      log.warn('A directory belongs to no PersistentVolume; remove it if its data is not needed', {
        path: disk.pathOf(name),
      });
    }
  }

  async #exists(name: string): Promise<boolean> {
    try {
      await this.#options.client.get(persistentVolumes, { namespace: '', name });
      return true;
    } catch (error) {
      if (isApiError(error, 'NotFound')) return false;
      throw error;
    }
  }

  async #provision(
    claim: PersistentVolumeClaim,
    { volumeName, sizeBytes }: Extract<ClaimPlan, { kind: 'provision' }>,
    volumeAt: (path: string) => PersistentVolume,
  ): Promise<number | undefined> {
    const { disk, client } = this.#options;
    if (this.#caches.volumes.get({ namespace: '', name: volumeName }) !== undefined) return undefined;
    const { namespace, name } = claim.metadata;
    this.#recorder.event(persistentVolumeClaims, claim, {
      type: 'Normal',
      reason: 'Provisioning',
      message: `External provisioner is provisioning volume for claim "${namespace}/${name}"`,
    });
    try {
      const shortage = await this.#shortage(sizeBytes);
      if (shortage !== undefined) {
        this.#warn(claim, provisioningFailed(claim, shortage));
        return await this.#giveBack(claim);
      }
      await disk.create(volumeName);
      await disk.limit(volumeName, sizeBytes);
    } catch (error) {
      this.#warn(claim, provisioningFailed(claim, errorMessage(error)));
      throw error;
    }
    try {
      await client.create(persistentVolumes, volumeAt(disk.pathOf(volumeName)));
    } catch (error) {
      if (!isApiError(error, 'AlreadyExists')) throw error;
    }
    this.#recorder.event(persistentVolumeClaims, claim, {
      type: 'Normal',
      reason: 'ProvisioningSucceeded',
      message: `Successfully provisioned volume ${volumeName}`,
    });
    return undefined;
  }

  /**
   * Takes back the selection of this node, so that the scheduler looks for another one (upstream: sig-storage-lib
   * rescheduleProvisioning). It knows the free space of the nodes from the published capacity.
   */
  async #giveBack(claim: PersistentVolumeClaim): Promise<undefined> {
    const { [storageAnnotations.selectedNode]: _, ...annotations } = claim.metadata.annotations ?? {};
    try {
      await this.#options.client.update(persistentVolumeClaims, {
        ...claim,
        metadata: { ...claim.metadata, annotations },
      });
    } catch (error) {
      // The claim is changed or deleted; the event queues it again.
      if (!isApiError(error, 'Conflict', 'NotFound')) throw error;
    }
    return undefined;
  }

  /**
   * The limit changes first, then the volume, then the claim, so a claim never reports a size that its volume does not
   * have.
   */
  async #expand(
    claim: PersistentVolumeClaim,
    { volume, size, sizeBytes }: Extract<ClaimPlan, { kind: 'expand' }>,
  ): Promise<number | undefined> {
    const { disk, client } = this.#options;
    const before = quantityValue(volume.spec.capacity?.['storage'] ?? '0');
    const shortage = await this.#shortage(sizeBytes - before);
    if (shortage !== undefined) {
      this.#warn(claim, { reason: 'VolumeResizeFailed', message: shortage });
      return NO_SPACE_RETRY_MS;
    }
    if (sizeBytes > before) {
      await disk.limit(volume.metadata.name, sizeBytes);
      await client.update(persistentVolumes, {
        ...volume,
        spec: { ...volume.spec, capacity: { ...volume.spec.capacity, storage: size } },
      });
    }
    const { allocatedResourceStatuses: _, conditions = [], ...status } = claim.status ?? {};
    const others = conditions.filter(({ type }) => type !== 'Resizing' && type !== 'FileSystemResizePending');
    await client.update(
      persistentVolumeClaims,
      {
        ...claim,
        status: {
          ...status,
          capacity: { ...status.capacity, storage: size },
          allocatedResources: { ...status.allocatedResources, storage: size },
          ...(others.length > 0 && { conditions: others }),
        },
      },
      { subresource: 'status' },
    );
    this.#recorder.event(persistentVolumeClaims, claim, {
      type: 'Normal',
      reason: 'VolumeResizeSuccessful',
      message: 'Resize volume succeeded',
    });
    return undefined;
  }

  async #shortage(bytes: number): Promise<string | undefined> {
    const free = await this.#options.disk.freeBytes();
    if (bytes <= free) return undefined;
    const [wanted, left] = [bytes, free].map((each) => quantityOf(Math.ceil(each / MEBIBYTE) * MEBIBYTE, 'BinarySI'));
    return `not enough free space on node ${this.#options.nodeName}: ${wanted} requested, ${left} free`;
  }

  async #removeDirectory(volume: PersistentVolume): Promise<void> {
    try {
      await this.#options.disk.remove(volume.metadata.name);
    } catch (error) {
      this.#recorder.event(persistentVolumes, volume, {
        type: 'Warning',
        reason: 'VolumeFailedDelete',
        message: errorMessage(error),
      });
      throw error;
    }
  }

  /** Reads the newest object: another client may have changed it, or deleted it. */
  async #dropFinalizer(volume: PersistentVolume): Promise<void> {
    const { client } = this.#options;
    const newest = await client.get(persistentVolumes, keyOf(volume));
    const { finalizers = [], uid } = newest.metadata;
    if (uid !== volume.metadata.uid || !finalizers.includes(VOLUME_FINALIZER)) return;
    const kept = finalizers.filter((each) => each !== VOLUME_FINALIZER);
    await client.update(persistentVolumes, { ...newest, metadata: { ...newest.metadata, finalizers: kept } });
  }

  #isOwn(volume: PersistentVolume, hostname: string | undefined): boolean {
    const { disk } = this.#options;
    return hostname !== undefined && isOwnVolume(volume, { hostname, pathOf: (name) => disk.pathOf(name) });
  }

  /** The label of the node. It is set when the node registers and does not change. */
  async #findHostname(): Promise<string | undefined> {
    if (this.#hostname !== undefined) return this.#hostname;
    try {
      const node = await this.#options.client.get(nodes, { namespace: '', name: this.#options.nodeName });
      this.#hostname = node.metadata.labels?.[nodeLabels.hostname];
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error;
    }
    return this.#hostname;
  }

  #warn(claim: PersistentVolumeClaim, said: { readonly reason: string; readonly message: string }): void {
    this.#recorder.event(persistentVolumeClaims, claim, { type: 'Warning', ...said });
  }
}

const MEBIBYTE = 1024 * 1024;

const provisioningFailed = ({ spec }: PersistentVolumeClaim, why: string): { reason: string; message: string } => ({
  reason: 'ProvisioningFailed',
  message: `failed to provision volume with StorageClass "${spec.storageClassName ?? ''}": ${why}`,
});
