import { csiNodes } from '../../../api/client/resource-types.ts';
import type { CSINode } from '../../../api/storage/csi-node.ts';
import { CSINodeSchema } from '../../../api/storage/csi-node.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import { validateCsiNode, validateCsiNodeUpdate } from '../../../api/validation/volumes/validate-storage.ts';
import { defineResource } from '../define-resource.ts';

export const csiNodeResource = defineResource<CSINode>({
  type: csiNodes,
  singular: 'csinode',
  schema: CSINodeSchema,
  storagePath: 'csinodes',
  rules: {
    applyDefaults: (node) => node,
    validate: validateCsiNode,
    validateName: checkDnsSubdomain,
    validateUpdate: validateCsiNodeUpdate,
    requiresResourceVersion: true,
    returnsDeleted: true,
  },
  columns: [
    {
      name: 'Drivers',
      type: 'integer',
      description: 'How many drivers the node has.',
      cell: ({ spec }) => spec.drivers.length,
    },
  ],
});
