import { createHash } from 'node:crypto';
import type { PersistentVolumeSpec } from './core/persistent-volume.ts';
import type { Volume } from './core/volume.ts';

/** A volume that must be attached to a node before its pods can use it. */
export interface AttachableVolume {
  /** The name in a node's status (upstream: unique volume name). */
  readonly key: string;
  /** A volume of a CSI driver is attached through a VolumeAttachment. Others are only recorded in the node's status. */
  readonly csi?: { readonly driver: string; readonly handle: string };
}

const ISCSI_PORT = 3260;

/** The name of the VolumeAttachment for this volume on this node (upstream: csi_attacher.go getAttachmentName). */
export function attachmentName(handle: string, driver: string, nodeName: string): string {
  return `csi-${createHash('sha256').update(`${handle}${driver}${nodeName}`).digest('hex')}`;
}

/**
 * Whether the attach/detach controller created the name. The controller does not change attachments of other clients.
 */
export const isAttachmentName = (name: string): boolean => /^csi-[0-9a-f]{64}$/.test(name);

export const csiVolumeKey = (driver: string, handle: string): string => `kubernetes.io/csi/${driver}^${handle}`;

/**
 * Undefined for kinds of volumes that are never attached. The CSIDriver object says whether a CSI driver needs
 * attachments.
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
