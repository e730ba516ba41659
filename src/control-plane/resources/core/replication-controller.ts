import type { ReplicationController } from '../../../api/core/replication-controller.ts';
import { ReplicationControllerSchema } from '../../../api/core/replication-controller.ts';
import { replicationControllers } from '../../../api/client/resource-types.ts';
import { defaultReplicationController } from '../../../api/defaults/default-replication-controller.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import { podTemplateWarnings } from '../../../api/validation/pod/pod-template.ts';
import {
  validateReplicationController,
  validateReplicationControllerStatus,
  validateReplicationControllerUpdate,
} from '../../../api/validation/workloads/validate-replication-controller.ts';
import { replicaScale } from '../apps/replica-scale.ts';
import { hostnameWarnings, replicaColumns } from '../apps/template-columns.ts';
import { defineResource } from '../define-resource.ts';
import { formatLabels, joinImages, joinNames } from '../print-cells.ts';

const none = { spec: { containers: [] } };

export const replicationControllerResource = defineResource<ReplicationController>({
  type: replicationControllers,
  singular: 'replicationcontroller',
  shortNames: ['rc'],
  categories: ['all'],
  schema: ReplicationControllerSchema,
  storagePath: 'controllers',
  rules: {
    applyDefaults: defaultReplicationController,
    prepareForCreate: (controller) => ({ ...controller, status: { replicas: 0 } }),
    validate: validateReplicationController,
    validateName: checkDnsSubdomain,
    validateUpdate: validateReplicationControllerUpdate,
    validateStatusUpdate: validateReplicationControllerStatus,
    warnings: warningsOf,
    // For old clients of v1, who expected their pods to stay.
    defaultPropagation: 'Orphan',
  },
  selectableFields: ({ status }) => ({ 'status.replicas': String(status?.replicas ?? 0) }),
  hasStatus: true,
  countsGeneration: true,
  columns: [
    ...replicaColumns,
    {
      name: 'Containers',
      type: 'string',
      description: 'Names of the containers of each pod.',
      priority: 1,
      cell: ({ spec }) => joinNames(spec.template ?? none),
    },
    {
      name: 'Images',
      type: 'string',
      description: 'Images of the containers of each pod.',
      priority: 1,
      cell: ({ spec }) => joinImages(spec.template ?? none),
    },
    {
      name: 'Selector',
      type: 'string',
      description: 'Which pods belong to it.',
      priority: 1,
      cell: ({ spec }) => formatLabels(spec.selector),
    },
  ],
  views: [
    replicaScale(validateReplicationControllerUpdate, ({ spec }) =>
      spec.selector === undefined ? undefined : { matchLabels: spec.selector },
    ),
  ],
});

function warningsOf(controller: ReplicationController, old: ReplicationController | undefined): string[] {
  const { template } = controller.spec;
  if (template === undefined) return [];
  const isChanged = old === undefined || controller.metadata.generation !== old.metadata.generation;
  return [
    ...(old === undefined ? hostnameWarnings(controller) : []),
    ...(isChanged ? podTemplateWarnings('spec.template', template) : []),
  ];
}
