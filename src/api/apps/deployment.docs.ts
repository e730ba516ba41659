import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { conditionDocs } from '../core/condition.docs.ts';
import {
  RollingUpdateDeploymentSchema,
  DeploymentStrategySchema,
  DeploymentSpecSchema,
  DeploymentConditionSchema,
  DeploymentStatusSchema,
  DeploymentSchema,
} from './deployment.ts';

export const docs: readonly TypeDocs[] = [
  describe(
    RollingUpdateDeploymentSchema,
    'The size of the steps of a rolling update, as numbers or percentages of the replicas.',
    {
      maxUnavailable: 'How many pods may be unavailable during the update, as a number or percentage. Default 25%.',
      maxSurge:
        'How many pods may exist above the desired number during the update, as a number or percentage. Default 25%.',
    },
  ),
  describe(DeploymentStrategySchema, 'How old pods are replaced.', {
    type: 'RollingUpdate replaces pods step by step, Recreate deletes all old pods first. Default RollingUpdate.',
    rollingUpdate: 'The size of the steps, with RollingUpdate.',
  }),
  describe(DeploymentSpecSchema, 'The desired state of a Deployment.', {
    replicas: 'The desired number of pods. Default 1.',
    selector: 'Selects the pods. Must match the labels of the template. Cannot be changed.',
    template: 'The template of the pods. Changing it starts a rollout.',
    strategy: 'How old pods are replaced by new ones.',
    minReadySeconds: 'How long a new pod must be ready before it counts as available, in seconds. Default 0.',
    revisionHistoryLimit: 'How many old ReplicaSets are kept for `kubectl rollout undo`. Default 10.',
    paused: 'Changes of the template do not start a rollout. Default false.',
    progressDeadlineSeconds:
      'How long a rollout may make no progress before it is reported as failed, in seconds. Default 600.',
  }),
  describe(DeploymentConditionSchema, 'A condition of a Deployment.', {
    ...conditionDocs,
  }),
  describe(DeploymentStatusSchema, 'The state of a Deployment.', {
    observedGeneration: 'The `metadata.generation` that the controller saw when it wrote this status.',
    replicas: 'The number of pods.',
    updatedReplicas: 'The number of pods of the current template.',
    readyReplicas: 'The number of ready pods.',
    availableReplicas: 'The number of pods that have been ready for minReadySeconds.',
    unavailableReplicas: 'The number of pods that are missing or not available.',
    terminatingReplicas: 'The number of pods that are being deleted.',
    conditions: 'Conditions of the Deployment: Available, Progressing and ReplicaFailure.',
    collisionCount: 'How often the name of a new ReplicaSet was already in use. Used to choose the next name.',
  }),
  describe(
    DeploymentSchema,
    'Keeps a number of identical pods running, and updates them step by step when their template changes.',
    {},
  ),
];
