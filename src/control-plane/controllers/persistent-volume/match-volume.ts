import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import { compareQuantities } from '../../../api/quantity.ts';
import { matchesLabelSelector } from '../../../api/selectors.ts';
import { classOf, differsInMode, hasModes, isBoundTo, isLargeEnough, sameAttributes, sizeOf } from './volume-facts.ts';

/**
 * Selects the volume for a claim without a volume name: one that is reserved for it; otherwise, unless the scheduler
 * chooses (`delayed`), the smallest one that is large enough and has the best matching access modes (upstream:
 * findBestMatchForClaim). Among equals, the first by name is selected.
 */
export function selectVolume(
  claim: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[],
  delayed: boolean,
): PersistentVolume | undefined {
  const able = volumes.filter(
    (volume) =>
      (volume.spec.claimRef === undefined || isBoundTo(volume, claim)) &&
      volume.metadata.deletionTimestamp === undefined &&
      hasModes(volume, claim) &&
      isLargeEnough(volume, claim) &&
      !differsInMode(volume, claim) &&
      sameAttributes(volume, claim),
  );
  const kept = able.filter((volume) => isBoundTo(volume, claim));
  if (kept.length > 0) return best(kept);
  if (delayed) return undefined;
  const { selector } = claim.spec;
  const wanted = classOf(claim);
  return best(
    able.filter(
      (volume) =>
        volume.status?.phase === 'Available' &&
        classOf(volume) === wanted &&
        (selector === undefined || matchesLabelSelector(selector, volume.metadata.labels ?? {})),
    ),
  );
}

function best(volumes: readonly PersistentVolume[]): PersistentVolume | undefined {
  const modes = ({ spec }: PersistentVolume): number => spec.accessModes?.length ?? 0;
  const order = (left: PersistentVolume, right: PersistentVolume): number =>
    modes(left) - modes(right) ||
    compareQuantities(sizeOf(left), sizeOf(right)) ||
    (left.metadata.name < right.metadata.name ? -1 : 1);
  return [...volumes].sort(order)[0];
}

/**
 * Returns why a claim cannot be bound to the volume that it names, with upstream's message (checkVolumeSatisfyClaim).
 */
export function mismatch(volume: PersistentVolume, claim: PersistentVolumeClaim): string | undefined {
  if (volume.metadata.deletionTimestamp !== undefined)
    return `the volume is marked for deletion "${volume.metadata.name}"`;
  if (!isLargeEnough(volume, claim)) return 'requested PV is too small';
  if (classOf(volume) !== classOf(claim)) return 'storageClassName does not match';
  if (!sameAttributes(volume, claim)) return 'volumeAttributesClassName does not match';
  if (differsInMode(volume, claim)) return 'incompatible volumeMode';
  return hasModes(volume, claim) ? undefined : 'incompatible accessMode';
}
