import { storageAnnotations } from '../../../api/annotations.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import type { StorageClass } from '../../../api/storage/storage-class.ts';
import { mismatch, selectVolume } from './match-volume.ts';
import { classOf, hasAnnotation, isBoundTo, saysClass } from './volume-facts.ts';

/** An event for users. */
export interface Word {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

export type ClaimPlan =
  | { readonly kind: 'bind'; readonly volume: PersistentVolume }
  | { readonly kind: 'pending'; readonly word?: Word }
  /** The bound volume was deleted. This is permanent and reported once. */
  | { readonly kind: 'lost'; readonly word: Word }
  | { readonly kind: 'assignClass'; readonly className: string }
  /** Requests a volume from an external provisioner. */
  | { readonly kind: 'provision'; readonly provisioner: string; readonly word: Word };

export interface ClaimFacts {
  readonly volumes: readonly PersistentVolume[];
  readonly volumeOf: (name: string) => PersistentVolume | undefined;
  readonly classOf: (name: string) => StorageClass | undefined;
  /** The default class, or undefined if there is none. */
  readonly defaultClass: string | undefined;
  /** The names of unscheduled pods that use the claim, sorted. */
  readonly waitingPods: readonly string[];
}

/** Plans the next step for a claim (upstream: syncClaim). */
export function planClaim(claim: PersistentVolumeClaim, facts: ClaimFacts): ClaimPlan {
  if (hasAnnotation(claim, storageAnnotations.bindCompleted)) return planBound(claim, facts);
  const { volumeName = '' } = claim.spec;
  return volumeName === '' ? planAnyVolume(claim, facts) : planNamedVolume(claim, facts.volumeOf(volumeName));
}

const warning = (reason: string, message: string): Word => ({ type: 'Warning', reason, message });

function planBound(claim: PersistentVolumeClaim, { volumeOf }: ClaimFacts): ClaimPlan {
  const { volumeName = '' } = claim.spec;
  if (volumeName === '')
    return {
      kind: 'lost',
      word: warning('ClaimLost', 'Bound claim has lost reference to PersistentVolume. Data on the volume is lost!'),
    };
  const volume = volumeOf(volumeName);
  if (volume === undefined)
    return {
      kind: 'lost',
      word: warning('ClaimLost', 'Bound claim has lost its PersistentVolume. Data on the volume is lost!'),
    };
  if (volume.spec.claimRef === undefined || volume.spec.claimRef.uid === claim.metadata.uid)
    return { kind: 'bind', volume };
  return {
    kind: 'lost',
    word: warning('ClaimMisbound', 'Two claims are bound to the same volume, this one is bound incorrectly'),
  };
}

function planNamedVolume(claim: PersistentVolumeClaim, volume: PersistentVolume | undefined): ClaimPlan {
  if (volume === undefined) return { kind: 'pending' };
  const { name } = volume.metadata;
  if (volume.spec.claimRef === undefined) {
    const why = mismatch(volume, claim);
    return why === undefined
      ? { kind: 'bind', volume }
      : { kind: 'pending', word: warning('VolumeMismatch', `Cannot bind to requested volume "${name}": ${why}`) };
  }
  if (isBoundTo(volume, claim)) return { kind: 'bind', volume };
  return { kind: 'pending', word: warning('FailedBinding', `volume "${name}" already bound to a different claim.`) };
}

function planAnyVolume(claim: PersistentVolumeClaim, facts: ClaimFacts): ClaimPlan {
  const className = classOf(claim);
  const storageClass = className === '' ? undefined : facts.classOf(className);
  const delayed = storageClass?.volumeBindingMode === 'WaitForFirstConsumer';
  const volume = selectVolume(claim, facts.volumes, delayed);
  if (volume !== undefined) return { kind: 'bind', volume };
  if (!saysClass(claim) && facts.defaultClass !== undefined)
    return { kind: 'assignClass', className: facts.defaultClass };
  if (delayed && !hasAnnotation(claim, storageAnnotations.selectedNode))
    return { kind: 'pending', word: waitingWord(facts.waitingPods) };
  if (className === '')
    return {
      kind: 'pending',
      word: {
        type: 'Normal',
        reason: 'FailedBinding',
        message: 'no persistent volumes available for this claim and no storage class is set',
      },
    };
  if (storageClass === undefined)
    return {
      kind: 'pending',
      word: warning('ProvisioningFailed', `storageclass.storage.k8s.io "${className}" not found`),
    };
  const { provisioner } = storageClass;
  if (provisioner.startsWith('kubernetes.io/'))
    return { kind: 'pending', word: warning('ProvisioningFailed', `no volume plugin matched name: ${provisioner}`) };
  const message = `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`;
  return { kind: 'provision', provisioner, word: { type: 'Normal', reason: 'ExternalProvisioning', message } };
}

function waitingWord(pods: readonly string[]): Word {
  if (pods.length === 0)
    return {
      type: 'Normal',
      reason: 'WaitForFirstConsumer',
      message: 'waiting for first consumer to be created before binding',
    };
  return {
    type: 'Normal',
    reason: 'WaitForPodScheduled',
    message: `waiting for ${pods.length === 1 ? 'pod' : 'pods'} ${pods.join(',')} to be scheduled`,
  };
}

/** Selects the newest default class; among those of the same age the first by name (upstream: GetDefaultClass). */
export function selectDefaultClass(classes: readonly StorageClass[]): string | undefined {
  const marked = ['storageclass.kubernetes.io/is-default-class', 'storageclass.beta.kubernetes.io/is-default-class'];
  const defaults = classes.filter(({ metadata }) => marked.some((name) => metadata.annotations?.[name] === 'true'));
  const time = ({ metadata }: StorageClass): string => metadata.creationTimestamp ?? '';
  return [...defaults].sort((left, right) =>
    time(left) !== time(right)
      ? time(left) > time(right)
        ? -1
        : 1
      : left.metadata.name < right.metadata.name
        ? -1
        : 1,
  )[0]?.metadata.name;
}
