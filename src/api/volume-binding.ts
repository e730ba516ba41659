import type { PersistentVolumeClaim } from './core/persistent-volume-claim.ts';
import type { PersistentVolume } from './core/persistent-volume.ts';

/**
 * The volume that a claim is bound to, on a node without a controller that binds: the one in the claim's
 * `spec.volumeName`, or the one whose `claimRef` names the claim. If both are set, they must agree. Size, class and
 * selector are ignored, because the manifests name the volume.
 */
export function boundVolumeOf(
  claim: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[],
): PersistentVolume | undefined {
  const wanted = claim.spec.volumeName ?? '';
  const inReach = volumes.filter((volume) =>
    wanted === '' ? volume.spec.claimRef !== undefined : volume.metadata.name === wanted,
  );
  return inReach.find((volume) => volume.spec.claimRef === undefined || refersTo(volume.spec.claimRef, claim));
}

function refersTo(
  reference: { readonly namespace?: string; readonly name?: string; readonly uid?: string },
  { metadata }: PersistentVolumeClaim,
): boolean {
  if (reference.name !== metadata.name || (reference.namespace ?? 'default') !== metadata.namespace) return false;
  // A claim from a manifest has no UID of its own unless it was written there.
  return !reference.uid || metadata.uid === '' || reference.uid === metadata.uid;
}
