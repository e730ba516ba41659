import { createHash } from 'node:crypto';
import type { PersistentVolumeSpec } from './core/persistent-volume.ts';
import type { Volume } from './core/volume.ts';

/** A volume that has to be attached to a node before pods there can use it. */
export interface AttachableVolume {
  /** What a node's status calls it (upstream: unique volume name). */
  readonly key: string;
  /** Of a CSI driver: VolumeAttachments tell it to. Others need to be noted only. */
  readonly csi?: { readonly driver: string; readonly handle: string };
}

const ISCSI_PORT = 3260;

/**
 * Name of the VolumeAttachment that stands for this volume on this node (upstream: csi_attacher.go getAttachmentName).
 */
export function attachmentName(handle: string, driver: string, nodeName: string): string {
  return `csi-${createHash('sha256').update(`${handle}${driver}${nodeName}`).digest('hex')}`;
}

/** Whether the attach/detach controller chose that name; attachments of other clients are not changed. */
export const isAttachmentName = (name: string): boolean => /^csi-[0-9a-f]{64}$/.test(name);

export const csiVolumeKey = (driver: string, handle: string): string => `kubernetes.io/csi/${driver}^${handle}`;

/**
 * undefined for kinds that are not attached. A CSI volume may be of a driver that needs no attaching: its CSIDriver
 * says so.
 */
export function attachableVolume(
  source: Pick<PersistentVolumeSpec, 'csi' | 'iscsi' | 'fc'> | Pick<Volume, 'iscsi' | 'fc'>,
): AttachableVolume | undefined {
  const { iscsi, fc } = source;
  if ('csi' in source && source.csi !== undefined) {
    const { driver, volumeHandle: handle } = source.csi;
    return { key: csiVolumeKey(driver, handle), csi: { driver, handle } };
  }
  if (iscsi !== undefined) {
    const portal = iscsi.targetPortal.includes(':') ? iscsi.targetPortal : `${iscsi.targetPortal}:${ISCSI_PORT}`;
    return { key: `kubernetes.io/iscsi/${portal}:${iscsi.iqn}:${iscsi.lun}` };
  }
  if (fc === undefined) return undefined;
  const { targetWWNs = [], wwids = [], lun = 0 } = fc;
  return {
    key: `kubernetes.io/fc/${targetWWNs.length > 0 ? `[${targetWWNs.join(' ')}]:${lun}` : `[${wwids.join(' ')}]`}`,
  };
}
