import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  TopologySelectorLabelRequirementSchema,
  TopologySelectorTermSchema,
  StorageClassSchema,
} from './storage-class.ts';

export const docs: readonly TypeDocs[] = [
  describe(TopologySelectorLabelRequirementSchema, 'A condition on a label of nodes.', {
    key: 'The key of the label.',
    values: 'The values; the label must have one of them.',
  }),
  describe(TopologySelectorTermSchema, 'A set of conditions on the location of volumes, all of which must be met.', {
    matchLabelExpressions: 'The conditions.',
  }),
  describe(StorageClassSchema, 'A class of volumes, which a provisioner creates for claims.', {
    provisioner: 'The driver that creates the volumes.',
    parameters: 'Parameters for the provisioner.',
    reclaimPolicy: 'What happens to volumes when their claim is deleted: Delete or Retain. Default Delete.',
    mountOptions: 'Mount options of the volumes.',
    allowVolumeExpansion: 'Whether the size of claims can be increased later. Default false.',
    volumeBindingMode:
      'When volumes are created and bound: Immediate, or WaitForFirstConsumer, when a pod that uses the claim is scheduled. Default Immediate.',
    allowedTopologies: 'Where volumes may be created. Absent: everywhere.',
  }),
];
