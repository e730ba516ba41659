import type { Deployment } from '../../../api/apps/deployment.ts';
import { DeploymentSchema } from '../../../api/apps/deployment.ts';
import { deployments } from '../../../api/client/resource-types.ts';
import { defaultDeployment } from '../../../api/defaults/default-apps.ts';
import { semanticEqual } from '../../../api/semantic-equal.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import {
  validateDeployment,
  validateDeploymentStatus,
  validateDeploymentUpdate,
} from '../../../api/validation/workloads/validate-deployment.ts';
import { defineResource } from '../define-resource.ts';
import { ageColumn } from '../print-cells.ts';
import { replicaScale } from './replica-scale.ts';
import { templateColumns } from './template-columns.ts';
import { templateWarnings } from './template-warnings.ts';

export const deploymentResource = defineResource<Deployment>({
  type: deployments,
  singular: 'deployment',
  shortNames: ['deploy'],
  categories: ['all'],
  schema: DeploymentSchema,
  storagePath: 'deployments',
  rules: {
    applyDefaults: defaultDeployment,
    prepareForCreate: (deployment) => ({ ...deployment, status: {} }),
    validate: validateDeployment,
    validateName: checkDnsSubdomain,
    validateUpdate: validateDeploymentUpdate,
    prepareForStatusUpdate: withLabelsOf,
    validateStatusUpdate: validateDeploymentStatus,
    warnings: templateWarnings,
  },
  hasStatus: true,
  countsGeneration: true,
  // Revisions carry the deployment's annotations along, so that the controller has to see their changes.
  alsoCounts: (deployment, old) => !semanticEqual(deployment.metadata.annotations, old.metadata.annotations),
  columns: [
    {
      name: 'Ready',
      type: 'string',
      description: 'Ready pods of those wanted.',
      cell: ({ spec, status }) => `${status?.readyReplicas ?? 0}/${spec.replicas ?? 0}`,
    },
    {
      name: 'Up-to-date',
      type: 'string',
      description: 'Pods made of the newest template.',
      cell: ({ status }) => status?.updatedReplicas ?? 0,
    },
    {
      name: 'Available',
      type: 'string',
      description: 'Pods ready for at least minReadySeconds.',
      cell: ({ status }) => status?.availableReplicas ?? 0,
    },
    ageColumn,
    ...templateColumns,
  ],
  views: [replicaScale(validateDeploymentUpdate)],
});

/** Restores the labels, which writers of a deployment's status cannot change. */
function withLabelsOf(deployment: Deployment, old: Deployment): Deployment {
  const { labels: _, ...metadata } = deployment.metadata;
  const { labels } = old.metadata;
  return { ...deployment, metadata: { ...metadata, ...(labels !== undefined && { labels }) } };
}
