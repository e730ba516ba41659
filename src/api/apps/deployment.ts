/** Deployment of apps/v1. The fields follow k8s.io/api/apps/v1. */
import {
  array,
  boolean,
  field,
  filled,
  int32,
  int64,
  intOrString,
  object,
  oneOf,
  pointer,
  required,
  retainKeys,
  string,
  time,
} from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { LabelSelectorSchema, ObjectMetaSchema } from '../core/meta.ts';
import { ConditionStatusSchema } from '../core/pod-status.ts';
import { PodTemplateSpecSchema } from '../core/pod-template.ts';

export const RollingUpdateDeploymentSchema = object('RollingUpdateDeployment', {
  maxUnavailable: pointer(1, intOrString),
  maxSurge: pointer(2, intOrString),
});
export type RollingUpdateDeployment = Infer<typeof RollingUpdateDeploymentSchema>;

export const DeploymentStrategySchema = object('DeploymentStrategy', {
  type: field(1, oneOf('Recreate', 'RollingUpdate')),
  rollingUpdate: field(2, RollingUpdateDeploymentSchema),
});
export type DeploymentStrategy = Infer<typeof DeploymentStrategySchema>;

export const DeploymentSpecSchema = object('DeploymentSpec', {
  replicas: pointer(1, int32),
  selector: required(2, LabelSelectorSchema),
  template: required(3, PodTemplateSpecSchema),
  strategy: field(4, retainKeys(DeploymentStrategySchema)),
  minReadySeconds: field(5, int32),
  revisionHistoryLimit: pointer(6, int32),
  paused: field(7, boolean),
  progressDeadlineSeconds: pointer(9, int32),
});
export type DeploymentSpec = Infer<typeof DeploymentSpecSchema>;

export const DeploymentConditionSchema = object('DeploymentCondition', {
  /** `Available`, `Progressing`, `ReplicaFailure`. */
  type: required(1, string),
  status: required(2, ConditionStatusSchema),
  lastUpdateTime: field(6, time),
  lastTransitionTime: field(7, time),
  reason: field(4, string),
  message: field(5, string),
});
export type DeploymentCondition = Infer<typeof DeploymentConditionSchema>;

export const DeploymentStatusSchema = object('DeploymentStatus', {
  observedGeneration: field(1, int64),
  replicas: field(2, int32),
  updatedReplicas: field(3, int32),
  readyReplicas: field(7, int32),
  availableReplicas: field(4, int32),
  unavailableReplicas: field(5, int32),
  terminatingReplicas: pointer(9, int32),
  conditions: field(6, array(DeploymentConditionSchema, ['type'])),
  collisionCount: pointer(8, int32),
});
export type DeploymentStatus = Infer<typeof DeploymentStatusSchema>;

export const DeploymentSchema = object('Deployment', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: filled(2, DeploymentSpecSchema),
  status: field(3, DeploymentStatusSchema),
});
export type Deployment = Infer<typeof DeploymentSchema>;
