/** VolumeAttachment of storage.k8s.io/v1: the wish to attach a volume to a node. Which fields exist follows k8s.io/api/storage/v1. */
import { array, boolean, int32, map, object, required, string, time } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ListMetaSchema, ObjectMetaSchema } from '../core/meta.ts';
import { PersistentVolumeSpecSchema } from '../core/persistent-volume.ts';

/** Exactly one of the two. */
export const VolumeAttachmentSourceSchema = object('VolumeAttachmentSource', {
  persistentVolumeName: string,
  inlineVolumeSpec: PersistentVolumeSpecSchema,
});
export type VolumeAttachmentSource = Infer<typeof VolumeAttachmentSourceSchema>;

export const VolumeAttachmentSpecSchema = object('VolumeAttachmentSpec', {
  attacher: required(string),
  source: required(VolumeAttachmentSourceSchema),
  nodeName: required(string),
});
export type VolumeAttachmentSpec = Infer<typeof VolumeAttachmentSpecSchema>;

export const VolumeErrorSchema = object('VolumeError', {
  time: time,
  message: string,
  errorCode: int32,
});
export type VolumeError = Infer<typeof VolumeErrorSchema>;

export const VolumeAttachmentStatusSchema = object('VolumeAttachmentStatus', {
  attached: required(boolean),
  attachmentMetadata: map(string),
  attachError: VolumeErrorSchema,
  detachError: VolumeErrorSchema,
});
export type VolumeAttachmentStatus = Infer<typeof VolumeAttachmentStatusSchema>;

/** Not in any namespace. */
export const VolumeAttachmentSchema = object('VolumeAttachment', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  spec: required(VolumeAttachmentSpecSchema),
  status: VolumeAttachmentStatusSchema,
});
export type VolumeAttachment = Infer<typeof VolumeAttachmentSchema>;

export const VolumeAttachmentListSchema = object('VolumeAttachmentList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(VolumeAttachmentSchema)),
});
export type VolumeAttachmentList = Infer<typeof VolumeAttachmentListSchema>;
