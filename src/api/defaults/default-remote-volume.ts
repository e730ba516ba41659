import type { PersistentVolumeSpec } from '../core/persistent-volume.ts';
import type { Volume } from '../core/volume.ts';

/** The sources that pods and PersistentVolumes have in common. */
type RemoteSources =
  | Pick<Volume, 'iscsi' | 'rbd' | 'azureDisk' | 'scaleIO'>
  | Pick<PersistentVolumeSpec, 'iscsi' | 'rbd' | 'azureDisk' | 'scaleIO'>;

/** Sets the defaults of the API server (upstream: core/v1/defaults.go). Changes `volume`. */
export function defaultRemoteInPlace(volume: RemoteSources): void {
  if (volume.iscsi !== undefined) volume.iscsi.iscsiInterface ||= 'default';
  if (volume.rbd !== undefined) {
    volume.rbd.pool ||= 'rbd';
    volume.rbd.user ||= 'admin';
    volume.rbd.keyring ||= '/etc/ceph/keyring';
  }
  if (volume.azureDisk !== undefined) {
    volume.azureDisk.cachingMode ??= 'ReadWrite';
    volume.azureDisk.fsType ??= 'ext4';
    volume.azureDisk.readOnly ??= false;
    volume.azureDisk.kind ??= 'Shared';
  }
  if (volume.scaleIO !== undefined) {
    volume.scaleIO.storageMode ||= 'ThinProvisioned';
    volume.scaleIO.fsType ||= 'xfs';
  }
}
