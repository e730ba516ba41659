import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  VolumeAttachmentSourceSchema,
  VolumeAttachmentSpecSchema,
  VolumeErrorSchema,
  VolumeAttachmentStatusSchema,
  VolumeAttachmentSchema,
} from './volume-attachment.ts';

export const docs: readonly TypeDocs[] = [
  describe(VolumeAttachmentSourceSchema, 'The volume to attach: persistentVolumeName or inlineVolumeSpec.', {
    persistentVolumeName: 'The name of a PersistentVolume.',
    inlineVolumeSpec: 'The spec of an inline volume.',
  }),
  describe(VolumeAttachmentSpecSchema, 'Which volume is attached to which node.', {
    attacher: 'The CSI driver that attaches the volume.',
    source: 'The volume.',
    nodeName: 'The node.',
  }),
  describe(VolumeErrorSchema, 'An error of an operation on a volume.', {
    time: 'When it happened.',
    message: 'The message of the error.',
    errorCode: 'The gRPC code of the error.',
  }),
  describe(VolumeAttachmentStatusSchema, 'The state of an attachment.', {
    attached: 'Whether the volume is attached.',
    attachmentMetadata: "The driver's data for mounting the volume.",
    attachError: 'The last error when attaching.',
    detachError: 'The last error when detaching.',
  }),
  describe(VolumeAttachmentSchema, 'Attaches a volume to a node.', {}),
];
