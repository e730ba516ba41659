import { storageAnnotations } from '../../../api/annotations.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import type { Word } from './plan-claim.ts';
import { differsInMode, hasAnnotation } from './volume-facts.ts';

export type VolumePlan =
  | { readonly kind: 'phase'; readonly phase: 'Available' | 'Bound' }
  /**
   * The claim was deleted. The volume is released, then its reclaim policy applies; `failure` is the message of the
   * phase Failed.
   */
  | { readonly kind: 'release'; readonly failure?: Word }
  /** The controller reserved the volume for a claim that was bound to another volume, so it becomes available. */
  | { readonly kind: 'unbind' }
  /** The pass over the claim completes the binding. */
  | { readonly kind: 'wakeClaim' }
  | {
      readonly kind: 'mismatch';
      readonly claim: PersistentVolumeClaim;
      readonly volumeWord: Word;
      readonly claimWord: Word;
    };

/** Plans the next step for a volume; `claim` is the claim in its reference, by UID (upstream: syncVolume). */
export function planVolume(volume: PersistentVolume, claim: PersistentVolumeClaim | undefined): VolumePlan {
  const reference = volume.spec.claimRef;
  if (reference === undefined || (reference.uid ?? '') === '') return { kind: 'phase', phase: 'Available' };
  if (claim === undefined) return { kind: 'release', ...reclaim(volume) };
  const { volumeName = '' } = claim.spec;
  if (volumeName === volume.metadata.name) return { kind: 'phase', phase: 'Bound' };
  if (volumeName !== '') {
    const made =
      hasAnnotation(volume, storageAnnotations.provisionedBy) && volume.spec.persistentVolumeReclaimPolicy === 'Delete';
    return made ? { kind: 'release', ...reclaim(volume) } : { kind: 'unbind' };
  }
  if (!differsInMode(volume, claim)) return { kind: 'wakeClaim' };
  const word = (message: string): Word => ({ type: 'Warning', reason: 'VolumeMismatch', message });
  return {
    kind: 'mismatch',
    claim,
    volumeWord: word(
      `Cannot bind PersistentVolume to requested PersistentVolumeClaim "${claim.metadata.name}" due to incompatible volumeMode.`,
    ),
    claimWord: word(
      `Cannot bind PersistentVolume "${volume.metadata.name}" to requested PersistentVolumeClaim due to incompatible volumeMode.`,
    ),
  };
}

/**
 * Applies the reclaim policy. There are no built-in deleters and recyclers; external provisioners handle their own
 * volumes (upstream: findDeletablePlugin).
 */
function reclaim({ metadata, spec }: PersistentVolume): { readonly failure?: Word } {
  const failed = (reason: string, message: string): { readonly failure: Word } => ({
    failure: { type: 'Warning', reason, message },
  });
  switch (spec.persistentVolumeReclaimPolicy ?? 'Retain') {
    case 'Retain':
      return {};
    case 'Recycle':
      return failed('VolumeFailedRecycle', 'No recycler plugin found for the volume!');
    case 'Delete': {
      const provisioner = metadata.annotations?.[storageAnnotations.provisionedBy] ?? '';
      if (provisioner.startsWith('kubernetes.io/'))
        return failed('VolumeFailedDelete', `no volume plugin matched name: ${provisioner}`);
      if (provisioner !== '' || spec.csi !== undefined) return {};
      const path = spec.hostPath?.path;
      if (path !== undefined && !/^\/tmp\/./.test(path))
        return failed('VolumeFailedDelete', `host_path deleter only supports /tmp/.+ but received provided ${path}`);
      return failed(
        'VolumeFailedDelete',
        `error getting deleter volume plugin for volume "${metadata.name}": no deletable volume plugin matched`,
      );
    }
  }
}
