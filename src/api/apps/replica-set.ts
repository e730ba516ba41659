/** ReplicaSet of apps/v1. The fields follow k8s.io/api/apps/v1. */
import { array, field, filled, int32, int64, object, pointer, required, string, time } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { LabelSelectorSchema, ObjectMetaSchema } from '../core/meta.ts';
import { ConditionStatusSchema } from '../core/pod-status.ts';
import { PodTemplateSpecSchema } from '../core/pod-template.ts';

export const ReplicaSetSpecSchema = object('ReplicaSetSpec', {
  replicas: pointer(1, int32),
  minReadySeconds: field(4, int32),
  selector: required(2, LabelSelectorSchema),
  template: filled(3, PodTemplateSpecSchema),
});
export type ReplicaSetSpec = Infer<typeof ReplicaSetSpecSchema>;

export const ReplicaSetConditionSchema = object('ReplicaSetCondition', {
  /** `ReplicaFailure`. */
  type: required(1, string),
  status: required(2, ConditionStatusSchema),
  lastTransitionTime: field(3, time),
  reason: field(4, string),
  message: field(5, string),
});
export type ReplicaSetCondition = Infer<typeof ReplicaSetConditionSchema>;

export const ReplicaSetStatusSchema = object('ReplicaSetStatus', {
  replicas: required(1, int32),
  fullyLabeledReplicas: field(2, int32),
  readyReplicas: field(4, int32),
  availableReplicas: field(5, int32),
  terminatingReplicas: pointer(7, int32),
  observedGeneration: field(3, int64),
  conditions: field(6, array(ReplicaSetConditionSchema, ['type'])),
});
export type ReplicaSetStatus = Infer<typeof ReplicaSetStatusSchema>;

export const ReplicaSetSchema = object('ReplicaSet', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: filled(2, ReplicaSetSpecSchema),
  status: field(3, ReplicaSetStatusSchema),
});
export type ReplicaSet = Infer<typeof ReplicaSetSchema>;
