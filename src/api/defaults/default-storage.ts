import { copyJson } from '../../base/copy-json.ts';
import type { PersistentVolumeClaim } from '../core/persistent-volume-claim.ts';
import type { PersistentVolume } from '../core/persistent-volume.ts';
import type { PersistentVolumeClaimSpec } from '../core/volume-source.ts';
import type { CSIDriver } from '../storage/csi-driver.ts';
import { roundListInPlace } from './default-container.ts';
import { defaultRemoteInPlace } from './default-remote-volume.ts';

/**
 * A copy with the defaults that the API server sets (upstream: SetDefaults_PersistentVolume and its generated callers).
 */
export function defaultPersistentVolume(volume: PersistentVolume): PersistentVolume {
  const copy = copyJson(volume);
  const { spec } = copy;
  spec.persistentVolumeReclaimPolicy ||= 'Retain';
  spec.volumeMode ??= 'Filesystem';
  if (spec.hostPath !== undefined) spec.hostPath.type ??= '';
  defaultRemoteInPlace(spec);
  roundListInPlace(spec.capacity);
  return { ...copy, status: { ...copy.status, phase: copy.status?.phase || 'Pending' } };
}

/** A copy with the defaults that the API server sets (upstream: SetDefaults_PersistentVolumeClaim). */
export function defaultPersistentVolumeClaim(claim: PersistentVolumeClaim): PersistentVolumeClaim {
  const copy = copyJson(claim);
  defaultClaimSpecInPlace(copy.spec);
  roundListInPlace(copy.status?.capacity);
  roundListInPlace(copy.status?.allocatedResources);
  return { ...copy, status: { ...copy.status, phase: copy.status?.phase || 'Pending' } };
}

export function defaultClaimSpecInPlace(spec: PersistentVolumeClaimSpec): void {
  spec.volumeMode ??= 'Filesystem';
  roundListInPlace(spec.resources?.limits);
  roundListInPlace(spec.resources?.requests);
}

/** A copy with the defaults that the API server sets (upstream: SetDefaults_CSIDriver). */
export function defaultCsiDriver(driver: CSIDriver): CSIDriver {
  const copy = copyJson(driver);
  const { spec } = copy;
  spec.attachRequired ??= true;
  spec.podInfoOnMount ??= false;
  spec.storageCapacity ??= false;
  spec.fsGroupPolicy ??= 'ReadWriteOnceWithFSType';
  if ((spec.volumeLifecycleModes ?? []).length === 0) spec.volumeLifecycleModes = ['Persistent'];
  spec.requiresRepublish ??= false;
  spec.seLinuxMount ??= false;
  return copy;
}
