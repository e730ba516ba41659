import { storageAnnotations } from '../../../api/annotations.ts';
import { isDeepStrictEqual } from 'node:util';
import type { ObjectIndex } from '../../../api/client/object-store.ts';
import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import { persistentVolumeClaims, persistentVolumes } from '../../../api/client/resource-types.ts';
import type { PersistentVolumeClaim, PersistentVolumeClaimStatus } from '../../../api/core/persistent-volume-claim.ts';
import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { claimNames } from '../../../api/pod-references.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { ControllerOptions } from '../../controller-runtime/controller.ts';
import { createEventRecorder } from '../../controller-runtime/event-recorder.ts';
import type { EventRecorder } from '../../controller-runtime/event-recorder.ts';
import type { StorageParts } from './storage-parts.ts';
import { planClaim, selectDefaultClass } from './plan-claim.ts';
import type { ClaimFacts, Word } from './plan-claim.ts';
import { hasAnnotation, isBoundTo, withPhase } from './volume-facts.ts';

type Phase = PersistentVolumeClaimStatus['phase'];

/** Executes the step for a claim. */
export class ClaimSyncer {
  readonly #options: ControllerOptions;
  readonly #parts: StorageParts;
  readonly #recorder: EventRecorder;
  readonly #podsByClaim: ObjectIndex<Pod>;

  constructor(options: ControllerOptions, parts: StorageParts) {
    this.#options = options;
    this.#parts = parts;
    this.#recorder = createEventRecorder({ ...options, component: 'persistentvolume-controller' });
    this.#podsByClaim = parts.pods.index('claim', (pod) =>
      [...claimNames(pod)].map((name) => formatKey({ namespace: pod.metadata.namespace, name })),
    );
  }

  async sync(key: string): Promise<void> {
    const claim = this.#parts.claims.getByKey(key);
    if (claim === undefined) return;
    try {
      await this.#carryOut(claim);
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error;
    }
  }

  async #carryOut(claim: PersistentVolumeClaim): Promise<void> {
    const plan = planClaim(claim, this.#facts(claim));
    switch (plan.kind) {
      case 'bind':
        return this.#bind(claim, plan.volume);
      case 'lost':
        if (claim.status?.phase === 'Lost') return;
        await this.#writeStatus(claim, 'Lost', undefined);
        return this.#say(claim, plan.word);
      case 'pending':
        await this.#writeStatus(claim, 'Pending', undefined);
        return this.#say(claim, plan.word);
      case 'assignClass':
        await this.#options.client.update(persistentVolumeClaims, {
          ...claim,
          spec: { ...claim.spec, storageClassName: plan.className },
        });
        return;
      case 'provision':
        return this.#askProvisioner(claim, plan.provisioner, plan.word);
    }
  }

  #facts(claim: PersistentVolumeClaim): ClaimFacts {
    const { volumes, classes } = this.#parts;
    const waiting = this.#podsByClaim.get(formatKey(keyOf(claim))).filter(({ spec }) => (spec.nodeName ?? '') === '');
    return {
      volumes: volumes.list(),
      volumeOf: (name) => volumes.get({ namespace: '', name }),
      classOf: (name) => classes.get({ namespace: '', name }),
      defaultClass: selectDefaultClass(classes.list()),
      waitingPods: waiting.map(({ metadata }) => metadata.name).sort(),
    };
  }

  /** Writes volume, volume phase, claim and claim phase, each only if it differs. */
  async #bind(claim: PersistentVolumeClaim, volume: PersistentVolume): Promise<void> {
    const { client } = this.#options;
    const { namespace, name, uid, resourceVersion } = claim.metadata;
    let taken = volume;
    if (volume.spec.claimRef?.uid !== uid || !isBoundTo(volume, claim)) {
      const claimRef = {
        kind: 'PersistentVolumeClaim',
        apiVersion: 'v1',
        namespace,
        name,
        uid,
        ...(resourceVersion !== undefined && { resourceVersion }),
      };
      const metadata = isBoundTo(volume, claim)
        ? volume.metadata
        : withAnnotations(volume, { [storageAnnotations.boundByController]: 'yes' });
      taken = await client.update(persistentVolumes, { ...volume, metadata, spec: { ...volume.spec, claimRef } });
    }
    if (taken.status?.phase !== 'Bound')
      await client.update(persistentVolumes, withPhase(taken, 'Bound'), { subresource: 'status' });
    let bound = claim;
    const isNamed = claim.spec.volumeName === volume.metadata.name;
    if (!isNamed || !hasAnnotation(claim, storageAnnotations.bindCompleted)) {
      const metadata = withAnnotations(claim, {
        [storageAnnotations.bindCompleted]: 'yes',
        ...(!isNamed && { [storageAnnotations.boundByController]: 'yes' }),
      });
      bound = await client.update(persistentVolumeClaims, {
        ...claim,
        metadata,
        spec: { ...claim.spec, volumeName: volume.metadata.name },
      });
    }
    await this.#writeStatus(bound, 'Bound', taken);
  }

  /** Capacity and access modes come from the volume; the resizer handles later differences of the size. */
  async #writeStatus(claim: PersistentVolumeClaim, phase: Phase, volume: PersistentVolume | undefined): Promise<void> {
    const { accessModes: _, capacity, currentVolumeAttributesClassName: __, ...rest } = claim.status ?? {};
    const { accessModes, capacity: size, volumeAttributesClassName } = volume?.spec ?? {};
    const storage = size?.['storage'];
    const shown = claim.status?.phase !== phase && storage !== undefined ? { ...capacity, storage } : capacity;
    const status = {
      ...rest,
      phase,
      ...(volume !== undefined && accessModes !== undefined && { accessModes }),
      ...(volume !== undefined && shown !== undefined && { capacity: shown }),
      ...(volumeAttributesClassName !== undefined && { currentVolumeAttributesClassName: volumeAttributesClassName }),
    };
    if (!isDeepStrictEqual(claim.status, status))
      await this.#options.client.update(persistentVolumeClaims, { ...claim, status }, { subresource: 'status' });
  }

  async #askProvisioner(claim: PersistentVolumeClaim, provisioner: string, word: Word): Promise<void> {
    const asked = [storageAnnotations.provisioner, storageAnnotations.betaProvisioner].every(
      (each) => claim.metadata.annotations?.[each] === provisioner,
    );
    const metadata = withAnnotations(claim, {
      [storageAnnotations.provisioner]: provisioner,
      [storageAnnotations.betaProvisioner]: provisioner,
    });
    if (!asked) await this.#options.client.update(persistentVolumeClaims, { ...claim, metadata });
    this.#say(claim, word);
  }

  #say(claim: PersistentVolumeClaim, word: Word | undefined): void {
    if (word !== undefined) this.#recorder.event(persistentVolumeClaims, claim, word);
  }
}

function withAnnotations<T extends PersistentVolume | PersistentVolumeClaim>(
  { metadata }: T,
  more: Record<string, string>,
): T['metadata'] {
  return { ...metadata, annotations: { ...metadata.annotations, ...more } };
}
