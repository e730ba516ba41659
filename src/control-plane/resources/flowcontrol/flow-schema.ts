import { flowSchemas } from '../../../api/client/resource-types.ts';
import { defaultFlowSchema } from '../../../api/defaults/default-flow-control.ts';
import type { FlowSchema } from '../../../api/flowcontrol/flow-schema.ts';
import { FlowSchemaSchema } from '../../../api/flowcontrol/flow-schema.ts';
import { validateFlowConditions, validateFlowSchema } from '../../../api/validation/access/validate-flow-schema.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import { defineResource } from '../define-resource.ts';
import { keepMetadata } from '../keep-metadata.ts';
import { ageColumn } from '../print-cells.ts';

export const flowSchemaResource = defineResource<FlowSchema>({
  type: flowSchemas,
  singular: 'flowschema',
  schema: FlowSchemaSchema,
  storagePath: 'flowschemas',
  rules: {
    applyDefaults: defaultFlowSchema,
    prepareForCreate: (schema) => ({ ...schema, status: {} }),
    validate: validateFlowSchema,
    validateName: checkDnsSubdomain,
    validateUpdate: validateFlowSchema,
    prepareForStatusUpdate: keepMetadata,
    validateStatusUpdate: validateFlowConditions,
  },
  hasStatus: true,
  resetFields: { status: ['metadata', 'spec'] },
  countsGeneration: true,
  columns: [
    {
      name: 'PriorityLevel',
      type: 'string',
      description: 'The priority level of its requests.',
      cell: ({ spec }) => spec.priorityLevelConfiguration.name,
    },
    {
      name: 'MatchingPrecedence',
      type: 'string',
      description: 'The lowest of the schemas that match a request counts.',
      cell: ({ spec }) => spec.matchingPrecedence,
    },
    {
      name: 'DistinguisherMethod',
      type: 'string',
      description: 'How its requests are divided into flows.',
      cell: ({ spec }) => spec.distinguisherMethod?.type ?? '<none>',
    },
    ageColumn,
    {
      name: 'MissingPL',
      type: 'string',
      description: 'Whether its priority level does not exist.',
      cell: ({ status }) => status?.conditions?.find(({ type }) => type === 'Dangling')?.status ?? '?',
    },
  ],
});
