import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { VolumeNodeResourcesSchema, CSINodeDriverSchema, CSINodeSpecSchema, CSINodeSchema } from './csi-node.ts';

export const docs: readonly TypeDocs[] = [
  describe(VolumeNodeResourcesSchema, 'How many volumes a node can have.', {
    count: 'The number of volumes. Absent: no limit.',
  }),
  describe(CSINodeDriverSchema, 'A CSI driver on a node.', {
    name: 'The name of the driver.',
    nodeID: 'The id of the node in the driver.',
    topologyKeys: 'The node labels that determine which volumes the node can access.',
    allocatable: 'How many volumes of the driver the node can have.',
  }),
  describe(CSINodeSpecSchema, 'The CSI drivers of a node.', {
    drivers: 'The drivers; empty when none is registered.',
  }),
  describe(CSINodeSchema, 'The CSI drivers on a node. Maintained by the kubelet.', {}),
];
