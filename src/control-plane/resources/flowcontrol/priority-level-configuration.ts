import { priorityLevelConfigurations } from '../../../api/client/resource-types.ts';
import { defaultPriorityLevel } from '../../../api/defaults/default-flow-control.ts';
import type {
  PriorityLevelConfiguration,
  QueuingConfiguration,
} from '../../../api/flowcontrol/priority-level-configuration.ts';
import { PriorityLevelConfigurationSchema } from '../../../api/flowcontrol/priority-level-configuration.ts';
import { validateFlowConditions } from '../../../api/validation/access/validate-flow-schema.ts';
import { validatePriorityLevel } from '../../../api/validation/access/validate-priority-level.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import type { TableColumn } from '../../model/resource-definition.ts';
import { defineResource } from '../define-resource.ts';
import { keepMetadata } from '../keep-metadata.ts';

const queuing = (
  name: string,
  field: keyof QueuingConfiguration,
  description: string,
): TableColumn<PriorityLevelConfiguration> => ({
  name,
  type: 'string',
  description,
  cell: ({ spec }) => spec.limited?.limitResponse.queuing?.[field] ?? '<none>',
});

export const priorityLevelConfigurationResource = defineResource<PriorityLevelConfiguration>({
  type: priorityLevelConfigurations,
  singular: 'prioritylevelconfiguration',
  schema: PriorityLevelConfigurationSchema,
  storagePath: 'prioritylevelconfigurations',
  rules: {
    applyDefaults: defaultPriorityLevel,
    prepareForCreate: (level) => ({ ...level, status: {} }),
    validate: validatePriorityLevel,
    validateName: checkDnsSubdomain,
    validateUpdate: validatePriorityLevel,
    prepareForStatusUpdate: keepMetadata,
    validateStatusUpdate: validateFlowConditions,
  },
  hasStatus: true,
  resetFields: { status: ['metadata', 'spec'] },
  countsGeneration: true,
  columns: [
    {
      name: 'Type',
      type: 'string',
      description: 'Whether its requests are limited.',
      cell: ({ spec }) => spec.type,
    },
    {
      name: 'NominalConcurrencyShares',
      type: 'string',
      description: 'Its share of the seats.',
      cell: ({ spec }) => spec.limited?.nominalConcurrencyShares ?? '<none>',
    },
    queuing('Queues', 'queues', 'Its queues.'),
    queuing('HandSize', 'handSize', 'How many queues a flow may use.'),
    queuing('QueueLengthLimit', 'queueLengthLimit', 'How many requests may wait in a queue.'),
  ],
});
