import { storageAnnotations } from '../../../api/annotations.ts';
import type { ObjectKey } from '../../../api/client/resource-type.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import { persistentVolumeClaims, persistentVolumes } from '../../../api/client/resource-types.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { PersistentVolume, PersistentVolumePhase } from '../../../api/core/persistent-volume.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { ControllerOptions } from '../../controller-runtime/controller.ts';
import { createEventRecorder } from '../../controller-runtime/event-recorder.ts';
import type { EventRecorder } from '../../controller-runtime/event-recorder.ts';
import type { StorageParts } from './storage-parts.ts';
import type { Word } from './plan-claim.ts';
import { planVolume } from './plan-volume.ts';
import { hasAnnotation, withPhase } from './volume-facts.ts';

/** Executes the step for a volume. */
export class VolumeSyncer {
  readonly #options: ControllerOptions;
  readonly #parts: StorageParts;
  readonly #wakeClaim: (key: ObjectKey) => void;
  readonly #recorder: EventRecorder;

  constructor(options: ControllerOptions, parts: StorageParts, wakeClaim: (key: ObjectKey) => void) {
    this.#options = options;
    this.#parts = parts;
    this.#wakeClaim = wakeClaim;
    this.#recorder = createEventRecorder({ ...options, component: 'persistentvolume-controller' });
  }

  async sync(name: string): Promise<void> {
    const volume = this.#parts.volumes.get({ namespace: '', name });
    if (volume === undefined) return;
    try {
      await this.#carryOut(volume);
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error;
    }
  }

  async #carryOut(volume: PersistentVolume): Promise<void> {
    const claim = await this.#claimOf(volume);
    const plan = planVolume(volume, claim);
    switch (plan.kind) {
      case 'phase':
        await this.#writePhase(volume, plan.phase);
        return;
      case 'release':
        return this.#release(volume, plan.failure);
      case 'unbind':
        return this.#unbind(volume);
      case 'wakeClaim':
        return claim === undefined ? undefined : this.#wakeClaim(keyOf(claim));
      case 'mismatch':
        this.#recorder.event(persistentVolumes, volume, plan.volumeWord);
        this.#recorder.event(persistentVolumeClaims, plan.claim, plan.claimWord);
    }
  }

  /**
   * Returns the claim to which a volume is bound. Only the server confirms its deletion, because an outdated cache
   * could cause data loss.
   */
  async #claimOf({ spec, status }: PersistentVolume): Promise<PersistentVolumeClaim | undefined> {
    const { namespace = '', name = '', uid = '' } = spec.claimRef ?? {};
    if (uid === '') return undefined;
    const known = this.#parts.claims.get({ namespace, name });
    if (known?.metadata.uid === uid) return known;
    if (known === undefined && (status?.phase === 'Released' || status?.phase === 'Failed')) return undefined;
    try {
      const claim = await this.#options.client.get(persistentVolumeClaims, { namespace, name });
      return claim.metadata.uid === uid ? claim : undefined;
    } catch (error) {
      if (isApiError(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  /** Releases the volume. A failure stays in the status until it is resolved. */
  async #release(volume: PersistentVolume, failure: Word | undefined): Promise<void> {
    const phase = volume.status?.phase;
    const released = phase === 'Released' || phase === 'Failed' ? volume : await this.#writePhase(volume, 'Released');
    if (failure === undefined || phase === 'Failed') return;
    const failed = await this.#writePhase(released, 'Failed', failure.message);
    this.#recorder.event(persistentVolumes, failed, failure);
  }

  /**
   * Ends the reservation. A volume that the controller reserved becomes available; one that a user reserved for a claim
   * stays reserved.
   */
  async #unbind(volume: PersistentVolume): Promise<void> {
    const { claimRef, ...spec } = volume.spec;
    const { [storageAnnotations.boundByController]: _, ...others } = volume.metadata.annotations ?? {};
    const { uid: __, ...kept } = claimRef ?? {};
    const free = hasAnnotation(volume, storageAnnotations.boundByController)
      ? { ...volume, metadata: { ...volume.metadata, annotations: others }, spec }
      : { ...volume, spec: { ...spec, claimRef: kept } };
    await this.#writePhase(await this.#options.client.update(persistentVolumes, free), 'Available');
  }

  async #writePhase(volume: PersistentVolume, phase: PersistentVolumePhase, message = ''): Promise<PersistentVolume> {
    return volume.status?.phase === phase
      ? volume
      : this.#options.client.update(persistentVolumes, withPhase(volume, phase, message), { subresource: 'status' });
  }
}
