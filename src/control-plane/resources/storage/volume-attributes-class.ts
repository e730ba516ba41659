import { volumeAttributesClasses } from '../../../api/client/resource-types.ts';
import type { VolumeAttributesClass } from '../../../api/storage/volume-attributes-class.ts';
import { VolumeAttributesClassSchema } from '../../../api/storage/volume-attributes-class.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import {
  validateVolumeAttributesClass,
  validateVolumeAttributesClassUpdate,
} from '../../../api/validation/volumes/validate-volume-attributes-class.ts';
import { defineResource } from '../define-resource.ts';

export const volumeAttributesClassResource = defineResource<VolumeAttributesClass>({
  type: volumeAttributesClasses,
  singular: 'volumeattributesclass',
  shortNames: ['vac'],
  schema: VolumeAttributesClassSchema,
  storagePath: 'volumeattributesclasses',
  rules: {
    applyDefaults: (attributesClass) => attributesClass,
    validate: validateVolumeAttributesClass,
    validateName: checkDnsSubdomain,
    validateUpdate: validateVolumeAttributesClassUpdate,
    returnsDeleted: true,
  },
  columns: [
    {
      name: 'DriverName',
      type: 'string',
      description: 'The CSI driver that knows the attributes.',
      cell: ({ driverName }) => driverName,
    },
  ],
});
