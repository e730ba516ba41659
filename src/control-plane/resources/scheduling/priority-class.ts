import { priorities } from '../../../api/annotations.ts';
import { priorityClasses } from '../../../api/client/resource-types.ts';
import type { PriorityClass } from '../../../api/scheduling/priority-class.ts';
import { PriorityClassSchema } from '../../../api/scheduling/priority-class.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import { validatePriorityClass, validatePriorityClassUpdate } from '../../../api/validation/validate-priority-class.ts';
import { defineResource } from '../define-resource.ts';
import { ageColumn } from '../print-cells.ts';

const systemClasses: readonly string[] = [priorities.clusterCriticalClass, priorities.nodeCriticalClass];

export const priorityClassResource = defineResource<PriorityClass>({
  type: priorityClasses,
  singular: 'priorityclass',
  shortNames: ['pc'],
  schema: PriorityClassSchema,
  storagePath: 'priorityclasses',
  rules: {
    applyDefaults: (priorityClass) => ({
      ...priorityClass,
      preemptionPolicy: priorityClass.preemptionPolicy ?? 'PreemptLowerPriority',
    }),
    // The generation is set once and never incremented, as upstream.
    prepareForCreate: (priorityClass) => ({ ...priorityClass, metadata: { ...priorityClass.metadata, generation: 1 } }),
    validate: validatePriorityClass,
    validateName: checkDnsSubdomain,
    validateUpdate: validatePriorityClassUpdate,
    refuseDeletion: (name) =>
      systemClasses.includes(name) ? 'this is a system priority class and cannot be deleted' : undefined,
  },
  columns: [
    { name: 'Value', type: 'integer', description: 'The priority of pods of the class.', cell: ({ value }) => value },
    {
      name: 'Global-Default',
      type: 'boolean',
      description: 'Whether pods that name no class get it.',
      cell: ({ globalDefault }) => globalDefault ?? false,
    },
    ageColumn,
    {
      name: 'PreemptionPolicy',
      type: 'string',
      description: 'Whether its pods may displace others.',
      cell: ({ preemptionPolicy }) => preemptionPolicy ?? '',
    },
  ],
});
