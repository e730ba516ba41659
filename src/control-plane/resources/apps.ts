import type { ControllerRevision } from '../../api/apps/controller-revision.ts';
import { ControllerRevisionSchema } from '../../api/apps/controller-revision.ts';
import type { Deployment } from '../../api/apps/deployment.ts';
import { DeploymentSchema } from '../../api/apps/deployment.ts';
import type { ReplicaSet } from '../../api/apps/replica-set.ts';
import { ReplicaSetSchema } from '../../api/apps/replica-set.ts';
import { controllerRevisions, deployments, replicaSets } from '../../api/client/resource-types.ts';
import { defaultDeployment, defaultReplicaSet } from '../../api/defaults/default-apps.ts';
import { semanticEqual } from '../../api/semantic-equal.ts';
import { checkDnsSubdomain } from '../../api/validation/names.ts';
import { podTemplateWarnings } from '../../api/validation/pod/pod-template.ts';
import {
  validateControllerRevision,
  validateControllerRevisionUpdate,
} from '../../api/validation/workloads/validate-controller-revision.ts';
import {
  validateDeployment,
  validateDeploymentStatus,
  validateDeploymentUpdate,
} from '../../api/validation/workloads/validate-deployment.ts';
import {
  validateReplicaSet,
  validateReplicaSetStatus,
  validateReplicaSetUpdate,
} from '../../api/validation/workloads/validate-replica-set.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';
import { ageColumn } from './cells.ts';
import { daemonSetDefinition } from './daemon-sets.ts';
import { defineResource } from './define-resource.ts';
import { scaleView } from './scale-view.ts';
import { hostnameWarnings, templateColumns } from './template-columns.ts';

function templateWarnings(object: Deployment | ReplicaSet, old: Deployment | ReplicaSet | undefined): string[] {
  if (old === undefined)
    return [...hostnameWarnings(object), ...podTemplateWarnings('spec.template', object.spec.template)];
  return object.metadata.generation === old.metadata.generation
    ? []
    : podTemplateWarnings('spec.template', object.spec.template);
}

const deploymentDefinition: ResourceDefinition<Deployment> = {
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
  views: [scaleView(validateDeploymentUpdate)],
};

/** Writers of a deployment's status cannot change its labels. */
function withLabelsOf(deployment: Deployment, old: Deployment): Deployment {
  const { labels: _, ...metadata } = deployment.metadata;
  const { labels } = old.metadata;
  return { ...deployment, metadata: { ...metadata, ...(labels !== undefined && { labels }) } };
}

const replicaSetDefinition: ResourceDefinition<ReplicaSet> = {
  type: replicaSets,
  singular: 'replicaset',
  shortNames: ['rs'],
  categories: ['all'],
  schema: ReplicaSetSchema,
  storagePath: 'replicasets',
  rules: {
    applyDefaults: defaultReplicaSet,
    prepareForCreate: (set) => ({ ...set, status: { replicas: 0 } }),
    validate: validateReplicaSet,
    validateName: checkDnsSubdomain,
    validateUpdate: validateReplicaSetUpdate,
    validateStatusUpdate: validateReplicaSetStatus,
    warnings: templateWarnings,
  },
  hasStatus: true,
  countsGeneration: true,
  columns: [
    { name: 'Desired', type: 'integer', description: 'Pods that are wanted.', cell: ({ spec }) => spec.replicas ?? 0 },
    {
      name: 'Current',
      type: 'integer',
      description: 'Pods that there are.',
      cell: ({ status }) => status?.replicas ?? 0,
    },
    {
      name: 'Ready',
      type: 'integer',
      description: 'Pods that are ready.',
      cell: ({ status }) => status?.readyReplicas ?? 0,
    },
    ageColumn,
    ...templateColumns,
  ],
  views: [scaleView(validateReplicaSetUpdate)],
};

const controllerRevisionDefinition: ResourceDefinition<ControllerRevision> = {
  type: controllerRevisions,
  singular: 'controllerrevision',
  schema: ControllerRevisionSchema,
  storagePath: 'controllerrevisions',
  rules: {
    applyDefaults: (revision) => revision,
    validate: validateControllerRevision,
    validateName: checkDnsSubdomain,
    validateUpdate: validateControllerRevisionUpdate,
  },
  columns: [
    { name: 'Controller', type: 'string', description: 'Whose revision it is.', cell: controllerOf },
    { name: 'Revision', type: 'string', description: 'The number of the revision.', cell: ({ revision }) => revision },
  ],
};

/** `daemonset.apps/name`. */
function controllerOf({ metadata }: ControllerRevision): string {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner === undefined) return '<none>';
  const [group, version] = owner.apiVersion.split('/');
  return `${`${owner.kind}${version === undefined ? '' : `.${group}`}`.toLowerCase()}/${owner.name}`;
}

export const appsResources: readonly ResourceDefinition[] = [
  defineResource(deploymentDefinition),
  defineResource(replicaSetDefinition),
  defineResource(daemonSetDefinition),
  defineResource(controllerRevisionDefinition),
];
