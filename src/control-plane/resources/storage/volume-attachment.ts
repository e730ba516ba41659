import { volumeAttachments } from '../../../api/client/resource-types.ts';
import { semanticEqual } from '../../../api/semantic-equal.ts';
import type { VolumeAttachment } from '../../../api/storage/volume-attachment.ts';
import { VolumeAttachmentSchema } from '../../../api/storage/volume-attachment.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import {
  validateVolumeAttachment,
  validateVolumeAttachmentUpdate,
} from '../../../api/validation/volumes/validate-storage.ts';
import { defineResource } from '../define-resource.ts';

/** Adds the initial status, in which nothing is attached. */
const withStatus = (attachment: VolumeAttachment): VolumeAttachment =>
  attachment.status === undefined ? { ...attachment, status: { attached: false } } : attachment;

export const volumeAttachmentResource = defineResource<VolumeAttachment>({
  type: volumeAttachments,
  singular: 'volumeattachment',
  schema: VolumeAttachmentSchema,
  storagePath: 'volumeattachments',
  rules: {
    applyDefaults: withStatus,
    validate: validateVolumeAttachment,
    validateName: checkDnsSubdomain,
    validateUpdate: validateVolumeAttachmentUpdate,
    requiresResourceVersion: true,
    prepareForStatusUpdate: (attachment, old) =>
      semanticEqual(attachment.spec, old.spec) ? attachment : { ...attachment, spec: old.spec },
    validateStatusUpdate: validateVolumeAttachmentUpdate,
    returnsDeleted: true,
  },
  columns: [
    {
      name: 'Attacher',
      type: 'string',
      format: 'name',
      description: 'The driver that attaches.',
      cell: ({ spec }) => spec.attacher,
    },
    {
      name: 'PV',
      type: 'string',
      description: 'The volume.',
      cell: ({ spec }) => spec.source.persistentVolumeName ?? '',
    },
    { name: 'Node', type: 'string', description: 'The node it is attached to.', cell: ({ spec }) => spec.nodeName },
    {
      name: 'Attached',
      type: 'boolean',
      description: 'Whether it is attached by now.',
      cell: ({ status }) => status?.attached ?? false,
    },
  ],
  hasStatus: true,
  resetFields: { status: ['metadata', 'spec'] },
});
