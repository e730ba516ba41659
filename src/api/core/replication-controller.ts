/** ReplicationController of core/v1. The fields follow k8s.io/api/core/v1. */
import {
  array,
  atomic,
  field,
  filled,
  int32,
  int64,
  map,
  object,
  pointer,
  required,
  string,
  time,
} from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from './meta.ts';
import { ConditionStatusSchema } from './pod-status.ts';
import { PodTemplateSpecSchema } from './pod-template.ts';

export const ReplicationControllerSpecSchema = object('ReplicationControllerSpec', {
  replicas: pointer(1, int32),
  minReadySeconds: field(4, int32),
  selector: field(2, atomic(map(string))),
  template: field(3, PodTemplateSpecSchema),
});
export type ReplicationControllerSpec = Infer<typeof ReplicationControllerSpecSchema>;

export const ReplicationControllerConditionSchema = object('ReplicationControllerCondition', {
  /** `ReplicaFailure`. */
  type: required(1, string),
  status: required(2, ConditionStatusSchema),
  lastTransitionTime: field(3, time),
  reason: field(4, string),
  message: field(5, string),
});
export type ReplicationControllerCondition = Infer<typeof ReplicationControllerConditionSchema>;

export const ReplicationControllerStatusSchema = object('ReplicationControllerStatus', {
  replicas: required(1, int32),
  fullyLabeledReplicas: field(2, int32),
  readyReplicas: field(4, int32),
  availableReplicas: field(5, int32),
  observedGeneration: field(3, int64),
  conditions: field(6, array(ReplicationControllerConditionSchema, ['type'])),
});
export type ReplicationControllerStatus = Infer<typeof ReplicationControllerStatusSchema>;

export const ReplicationControllerSchema = object('ReplicationController', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: filled(2, ReplicationControllerSpecSchema),
  status: field(3, ReplicationControllerStatusSchema),
});
export type ReplicationController = Infer<typeof ReplicationControllerSchema>;
