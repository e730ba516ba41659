/** ReplicaSet of apps/v1. Which fields exist follows k8s.io/api/apps/v1. */
import { array, int32, int64, object, required, string, time } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { LabelSelectorSchema, ListMetaSchema, ObjectMetaSchema } from '../core/meta.ts';
import { ConditionStatusSchema } from '../core/pod-status.ts';
import { PodTemplateSpecSchema } from '../core/pod-template.ts';

export const ReplicaSetSpecSchema = object('ReplicaSetSpec', {
  replicas: int32,
  minReadySeconds: int32,
  selector: required(LabelSelectorSchema),
  template: required(PodTemplateSpecSchema),
});
export type ReplicaSetSpec = Infer<typeof ReplicaSetSpecSchema>;

export const ReplicaSetConditionSchema = object('ReplicaSetCondition', {
  /** `ReplicaFailure`. */
  type: required(string),
  status: required(ConditionStatusSchema),
  lastTransitionTime: time,
  reason: string,
  message: string,
});
export type ReplicaSetCondition = Infer<typeof ReplicaSetConditionSchema>;

export const ReplicaSetStatusSchema = object('ReplicaSetStatus', {
  replicas: required(int32),
  fullyLabeledReplicas: int32,
  readyReplicas: int32,
  availableReplicas: int32,
  terminatingReplicas: int32,
  observedGeneration: int64,
  conditions: array(ReplicaSetConditionSchema, ['type']),
});
export type ReplicaSetStatus = Infer<typeof ReplicaSetStatusSchema>;

export const ReplicaSetSchema = object('ReplicaSet', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  spec: required(ReplicaSetSpecSchema),
  status: ReplicaSetStatusSchema,
});
export type ReplicaSet = Infer<typeof ReplicaSetSchema>;

export const ReplicaSetListSchema = object('ReplicaSetList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(ReplicaSetSchema)),
});
export type ReplicaSetList = Infer<typeof ReplicaSetListSchema>;
