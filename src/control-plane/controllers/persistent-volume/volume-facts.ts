import { requestedStorage } from '../../../api/claim-size.ts';
import { storageAnnotations } from '../../../api/annotations.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { PersistentVolume, PersistentVolumePhase } from '../../../api/core/persistent-volume.ts';
import { compareQuantities } from '../../../api/quantity.ts';

type Classed = Pick<PersistentVolumeClaim, 'metadata'> & { readonly spec: { readonly storageClassName?: string } };

export function hasAnnotation({ metadata }: Pick<PersistentVolumeClaim, 'metadata'>, name: string): boolean {
  return metadata.annotations !== undefined && Object.hasOwn(metadata.annotations, name);
}

/** Returns the class, or '' for none. */
export function classOf({ metadata, spec }: Classed): string {
  return metadata.annotations?.[storageAnnotations.betaClass] ?? spec.storageClassName ?? '';
}

/** Whether a class, or explicitly none, is set. */
export function saysClass(claim: Classed): boolean {
  return hasAnnotation(claim, storageAnnotations.betaClass) || claim.spec.storageClassName !== undefined;
}

/** Whether the volume is bound to, or reserved for, this claim. */
export function isBoundTo({ spec }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  const reference = spec.claimRef;
  if (reference === undefined || reference.name !== metadata.name || reference.namespace !== metadata.namespace)
    return false;
  return (reference.uid ?? '') === '' || reference.uid === metadata.uid;
}

export function differsInMode(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  return (volume.spec.volumeMode ?? 'Filesystem') !== (claim.spec.volumeMode ?? 'Filesystem');
}

export function hasModes(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  return (claim.spec.accessModes ?? []).every((mode) => (volume.spec.accessModes ?? []).includes(mode));
}

export const sizeOf = ({ spec }: PersistentVolume): string => spec.capacity?.['storage'] ?? '0';
export const isLargeEnough = (volume: PersistentVolume, claim: PersistentVolumeClaim): boolean =>
  compareQuantities(sizeOf(volume), requestedStorage(claim)) >= 0;
export const sameAttributes = (volume: PersistentVolume, claim: PersistentVolumeClaim): boolean =>
  (volume.spec.volumeAttributesClassName ?? '') === (claim.spec.volumeAttributesClassName ?? '');

/** Returns the volume with the phase. Only the phase Failed has a message. */
export function withPhase(volume: PersistentVolume, phase: PersistentVolumePhase, message = ''): PersistentVolume {
  const { message: _, ...status } = volume.status ?? {};
  return { ...volume, status: { ...status, phase, ...(message !== '' && { message }) } };
}
