import { csiStorageCapacities } from '../../../api/client/resource-types.ts';
import type { CSIStorageCapacity } from '../../../api/storage/csi-storage-capacity.ts';
import { CSIStorageCapacitySchema } from '../../../api/storage/csi-storage-capacity.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import {
  validateCsiStorageCapacity,
  validateCsiStorageCapacityUpdate,
} from '../../../api/validation/volumes/validate-storage-capacity.ts';
import { defineResource } from '../define-resource.ts';

export const csiStorageCapacityResource = defineResource<CSIStorageCapacity>({
  type: csiStorageCapacities,
  singular: 'csistoragecapacity',
  schema: CSIStorageCapacitySchema,
  storagePath: 'csistoragecapacities',
  rules: {
    applyDefaults: (capacity) => capacity,
    validate: validateCsiStorageCapacity,
    validateName: checkDnsSubdomain,
    validateUpdate: validateCsiStorageCapacityUpdate,
    requiresResourceVersion: true,
  },
  hasNoAge: true,
  columns: [
    {
      name: 'StorageClassName',
      type: 'string',
      description: 'The class that the storage is for.',
      cell: ({ storageClassName }) => storageClassName,
    },
    {
      name: 'Capacity',
      type: 'string',
      description: 'How much is left.',
      cell: ({ capacity }) => capacity ?? '<unset>',
    },
  ],
});
