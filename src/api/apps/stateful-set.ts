/** StatefulSet of apps/v1. The fields follow k8s.io/api/apps/v1. */
import {
  array,
  field,
  filled,
  int32,
  int64,
  intOrString,
  knownValues,
  object,
  oneOf,
  pointer,
  required,
  string,
  time,
} from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { LabelSelectorSchema, ObjectMetaSchema } from '../core/meta.ts';
import { PersistentVolumeClaimSchema } from '../core/persistent-volume-claim.ts';
import { ConditionStatusSchema } from '../core/pod-status.ts';
import { PodTemplateSpecSchema } from '../core/pod-template.ts';

export const RollingUpdateStatefulSetStrategySchema = object('RollingUpdateStatefulSetStrategy', {
  partition: pointer(1, int32),
  maxUnavailable: pointer(2, intOrString),
});
export type RollingUpdateStatefulSetStrategy = Infer<typeof RollingUpdateStatefulSetStrategySchema>;

export const StatefulSetUpdateStrategySchema = object('StatefulSetUpdateStrategy', {
  type: field(1, oneOf('RollingUpdate', 'OnDelete')),
  rollingUpdate: field(2, RollingUpdateStatefulSetStrategySchema),
});
export type StatefulSetUpdateStrategy = Infer<typeof StatefulSetUpdateStrategySchema>;

const ClaimRetentionSchema = knownValues('Retain', 'Delete');
export type ClaimRetention = Infer<typeof ClaimRetentionSchema>;

export const StatefulSetPersistentVolumeClaimRetentionPolicySchema = object(
  'StatefulSetPersistentVolumeClaimRetentionPolicy',
  {
    whenDeleted: field(1, ClaimRetentionSchema),
    whenScaled: field(2, ClaimRetentionSchema),
  },
);
export type StatefulSetPersistentVolumeClaimRetentionPolicy = Infer<
  typeof StatefulSetPersistentVolumeClaimRetentionPolicySchema
>;

export const StatefulSetOrdinalsSchema = object('StatefulSetOrdinals', {
  start: filled(1, int32),
});
export type StatefulSetOrdinals = Infer<typeof StatefulSetOrdinalsSchema>;

export const StatefulSetSpecSchema = object('StatefulSetSpec', {
  replicas: pointer(1, int32),
  selector: required(2, LabelSelectorSchema),
  template: required(3, PodTemplateSpecSchema),
  volumeClaimTemplates: field(4, array(PersistentVolumeClaimSchema)),
  serviceName: filled(5, string),
  podManagementPolicy: field(6, oneOf('OrderedReady', 'Parallel')),
  updateStrategy: field(7, StatefulSetUpdateStrategySchema),
  revisionHistoryLimit: pointer(8, int32),
  minReadySeconds: field(9, int32),
  persistentVolumeClaimRetentionPolicy: field(10, StatefulSetPersistentVolumeClaimRetentionPolicySchema),
  ordinals: field(11, StatefulSetOrdinalsSchema),
});
export type StatefulSetSpec = Infer<typeof StatefulSetSpecSchema>;

export const StatefulSetConditionSchema = object('StatefulSetCondition', {
  type: required(1, string),
  status: required(2, ConditionStatusSchema),
  lastTransitionTime: field(3, time),
  reason: field(4, string),
  message: field(5, string),
});
export type StatefulSetCondition = Infer<typeof StatefulSetConditionSchema>;

export const StatefulSetStatusSchema = object('StatefulSetStatus', {
  observedGeneration: field(1, int64),
  replicas: required(2, int32),
  readyReplicas: field(3, int32),
  currentReplicas: field(4, int32),
  updatedReplicas: field(5, int32),
  currentRevision: field(6, string),
  updateRevision: field(7, string),
  collisionCount: pointer(9, int32),
  conditions: field(10, array(StatefulSetConditionSchema, ['type'])),
  availableReplicas: filled(11, int32),
});
export type StatefulSetStatus = Infer<typeof StatefulSetStatusSchema>;

export const StatefulSetSchema = object('StatefulSet', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: filled(2, StatefulSetSpecSchema),
  status: field(3, StatefulSetStatusSchema),
});
export type StatefulSet = Infer<typeof StatefulSetSchema>;
