import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { CSIStorageCapacitySchema } from './csi-storage-capacity.ts';

export const docs: readonly TypeDocs[] = [
  describe(
    CSIStorageCapacitySchema,
    'How much storage a CSI driver can still provide for a class in a part of the cluster. Drivers write it, and the scheduler reads it.',
    {
      nodeTopology: 'The nodes that can access the storage, by their labels. Absent: none.',
      storageClassName: 'The StorageClass that the storage is for. It cannot be changed.',
      capacity: 'The available capacity. Absent: unknown.',
      maximumVolumeSize: 'The largest volume that can be created. Absent: as large as the capacity.',
    },
  ),
];
