/**
 * VolumeAttachment of storage.k8s.io/v1: a request to attach a volume to a node. The fields follow
 * k8s.io/api/storage/v1.
 */
import { boolean, field, filled, int32, map, object, pointer, required, string, time } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';
import { PersistentVolumeSpecSchema } from '../core/persistent-volume.ts';

/** Exactly one of the two. */
export const VolumeAttachmentSourceSchema = object('VolumeAttachmentSource', {
  persistentVolumeName: pointer(1, string),
  inlineVolumeSpec: field(2, PersistentVolumeSpecSchema),
});
export type VolumeAttachmentSource = Infer<typeof VolumeAttachmentSourceSchema>;

export const VolumeAttachmentSpecSchema = object('VolumeAttachmentSpec', {
  attacher: required(1, string),
  source: required(2, VolumeAttachmentSourceSchema),
  nodeName: required(3, string),
});
export type VolumeAttachmentSpec = Infer<typeof VolumeAttachmentSpecSchema>;

export const VolumeErrorSchema = object('VolumeError', {
  time: field(1, time),
  message: field(2, string),
  errorCode: pointer(3, int32),
});
export type VolumeError = Infer<typeof VolumeErrorSchema>;

export const VolumeAttachmentStatusSchema = object('VolumeAttachmentStatus', {
  attached: required(1, boolean),
  attachmentMetadata: field(2, map(string)),
  attachError: field(3, VolumeErrorSchema),
  detachError: field(4, VolumeErrorSchema),
});
export type VolumeAttachmentStatus = Infer<typeof VolumeAttachmentStatusSchema>;

/** Cluster-scoped. */
export const VolumeAttachmentSchema = object('VolumeAttachment', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: required(2, VolumeAttachmentSpecSchema),
  status: field(3, VolumeAttachmentStatusSchema),
});
export type VolumeAttachment = Infer<typeof VolumeAttachmentSchema>;
