/** Deployment of apps/v1. Which fields exist follows k8s.io/api/apps/v1. */
import {
  array,
  boolean,
  int32,
  int64,
  intOrString,
  object,
  oneOf,
  required,
  retainKeys,
  string,
  time,
} from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { LabelSelectorSchema, ListMetaSchema, ObjectMetaSchema } from '../core/meta.ts';
import { ConditionStatusSchema } from '../core/pod-status.ts';
import { PodTemplateSpecSchema } from '../core/pod-template.ts';

export const RollingUpdateDeploymentSchema = object('RollingUpdateDeployment', {
  maxUnavailable: intOrString,
  maxSurge: intOrString,
});
export type RollingUpdateDeployment = Infer<typeof RollingUpdateDeploymentSchema>;

export const DeploymentStrategySchema = object('DeploymentStrategy', {
  type: oneOf('Recreate', 'RollingUpdate'),
  rollingUpdate: RollingUpdateDeploymentSchema,
});
export type DeploymentStrategy = Infer<typeof DeploymentStrategySchema>;

export const DeploymentSpecSchema = object('DeploymentSpec', {
  replicas: int32,
  selector: required(LabelSelectorSchema),
  template: required(PodTemplateSpecSchema),
  strategy: retainKeys(DeploymentStrategySchema),
  minReadySeconds: int32,
  revisionHistoryLimit: int32,
  paused: boolean,
  progressDeadlineSeconds: int32,
});
export type DeploymentSpec = Infer<typeof DeploymentSpecSchema>;

export const DeploymentConditionSchema = object('DeploymentCondition', {
  /** `Available`, `Progressing`, `ReplicaFailure`. */
  type: required(string),
  status: required(ConditionStatusSchema),
  lastUpdateTime: time,
  lastTransitionTime: time,
  reason: string,
  message: string,
});
export type DeploymentCondition = Infer<typeof DeploymentConditionSchema>;

export const DeploymentStatusSchema = object('DeploymentStatus', {
  observedGeneration: int64,
  replicas: int32,
  updatedReplicas: int32,
  readyReplicas: int32,
  availableReplicas: int32,
  unavailableReplicas: int32,
  terminatingReplicas: int32,
  conditions: array(DeploymentConditionSchema, ['type']),
  collisionCount: int32,
});
export type DeploymentStatus = Infer<typeof DeploymentStatusSchema>;

export const DeploymentSchema = object('Deployment', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  spec: required(DeploymentSpecSchema),
  status: DeploymentStatusSchema,
});
export type Deployment = Infer<typeof DeploymentSchema>;

export const DeploymentListSchema = object('DeploymentList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(DeploymentSchema)),
});
export type DeploymentList = Infer<typeof DeploymentListSchema>;
