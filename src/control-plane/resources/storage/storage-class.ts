import { storageClasses } from '../../../api/client/resource-types.ts';
import type { StorageClass } from '../../../api/storage/storage-class.ts';
import { StorageClassSchema } from '../../../api/storage/storage-class.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import { validateStorageClass, validateStorageClassUpdate } from '../../../api/validation/volumes/validate-storage.ts';
import { defineResource } from '../define-resource.ts';

const isDefaultClass = ({ metadata: { annotations = {} } }: StorageClass): boolean =>
  annotations['storageclass.kubernetes.io/is-default-class'] === 'true' ||
  annotations['storageclass.beta.kubernetes.io/is-default-class'] === 'true';

export const storageClassResource = defineResource<StorageClass>({
  type: storageClasses,
  singular: 'storageclass',
  shortNames: ['sc'],
  schema: StorageClassSchema,
  storagePath: 'storageclasses',
  rules: {
    applyDefaults: (storageClass) =>
      storageClass.reclaimPolicy !== undefined && storageClass.volumeBindingMode !== undefined
        ? storageClass
        : {
            ...storageClass,
            reclaimPolicy: storageClass.reclaimPolicy ?? 'Delete',
            volumeBindingMode: storageClass.volumeBindingMode ?? 'Immediate',
          },
    validate: validateStorageClass,
    validateName: checkDnsSubdomain,
    validateUpdate: (storageClass, old) => [
      ...validateStorageClass(storageClass),
      ...validateStorageClassUpdate(storageClass, old),
    ],
    returnsDeleted: true,
  },
  columns: [
    {
      name: 'Name',
      type: 'string',
      format: 'name',
      description: 'Its name, and whether claims without a class get it.',
      cell: (storageClass) => `${storageClass.metadata.name}${isDefaultClass(storageClass) ? ' (default)' : ''}`,
    },
    {
      name: 'Provisioner',
      type: 'string',
      description: 'Who makes volumes of it.',
      cell: ({ provisioner }) => provisioner,
    },
    {
      name: 'ReclaimPolicy',
      type: 'string',
      description: 'What happens to volumes when their claim is gone.',
      cell: ({ reclaimPolicy }) => reclaimPolicy ?? 'Delete',
    },
    {
      name: 'VolumeBindingMode',
      type: 'string',
      description: 'When volumes are made and bound.',
      cell: ({ volumeBindingMode }) => volumeBindingMode ?? 'Immediate',
    },
    {
      name: 'AllowVolumeExpansion',
      type: 'string',
      description: 'Whether volumes may grow.',
      cell: ({ allowVolumeExpansion }) => allowVolumeExpansion ?? false,
    },
  ],
});
