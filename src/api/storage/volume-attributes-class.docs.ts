import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { VolumeAttributesClassSchema } from './volume-attributes-class.ts';

export const docs: readonly TypeDocs[] = [
  describe(
    VolumeAttributesClassSchema,
    'Attributes of volumes that a claim can change after its volume was created, such as the throughput.',
    {
      driverName: 'The CSI driver that knows the attributes. It cannot be changed.',
      parameters: 'The attributes, as the driver names them. At least one. They cannot be changed.',
    },
  ),
];
