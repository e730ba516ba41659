import { componentStatuses } from '../../../api/client/resource-types.ts';
import type { ComponentStatus } from '../../../api/core/component-status.ts';
import { ComponentStatusSchema } from '../../../api/core/component-status.ts';
import { defineResource } from '../define-resource.ts';

const healthOf = ({ conditions = [] }: ComponentStatus) => conditions.find(({ type }) => type === 'Healthy');

/** A kind that is not stored: each request checks the health of the components. */
export const componentStatusResource = defineResource<ComponentStatus>({
  type: componentStatuses,
  singular: 'componentstatus',
  shortNames: ['cs'],
  verbs: ['get', 'list'],
  deprecation: 'v1 ComponentStatus is deprecated in v1.19+',
  schema: ComponentStatusSchema,
  storagePath: '',
  hasNoAge: true,
  rules: { applyDefaults: (status) => status, validate: () => [], validateUpdate: () => [] },
  columns: [
    {
      name: 'Status',
      type: 'string',
      description: 'Whether it is healthy.',
      cell: (status) => {
        const health = healthOf(status);
        return health === undefined ? 'Unknown' : health.status === 'True' ? 'Healthy' : 'Unhealthy';
      },
    },
    {
      name: 'Message',
      type: 'string',
      description: 'Its answer.',
      cell: (status) => healthOf(status)?.message ?? '',
    },
    { name: 'Error', type: 'string', description: 'What is wrong.', cell: (status) => healthOf(status)?.error ?? '' },
  ],
});
