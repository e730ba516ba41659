/** DaemonSet of apps/v1. Which fields exist follows k8s.io/api/apps/v1. */
import { array, int32, int64, intOrString, object, oneOf, required, string, time } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { LabelSelectorSchema, ListMetaSchema, ObjectMetaSchema } from '../core/meta.ts';
import { ConditionStatusSchema } from '../core/pod-status.ts';
import { PodTemplateSpecSchema } from '../core/pod-template.ts';

export const RollingUpdateDaemonSetSchema = object('RollingUpdateDaemonSet', {
  maxUnavailable: intOrString,
  maxSurge: intOrString,
});
export type RollingUpdateDaemonSet = Infer<typeof RollingUpdateDaemonSetSchema>;

export const DaemonSetUpdateStrategySchema = object('DaemonSetUpdateStrategy', {
  type: oneOf('RollingUpdate', 'OnDelete'),
  rollingUpdate: RollingUpdateDaemonSetSchema,
});
export type DaemonSetUpdateStrategy = Infer<typeof DaemonSetUpdateStrategySchema>;

export const DaemonSetSpecSchema = object('DaemonSetSpec', {
  selector: required(LabelSelectorSchema),
  template: required(PodTemplateSpecSchema),
  updateStrategy: DaemonSetUpdateStrategySchema,
  minReadySeconds: int32,
  revisionHistoryLimit: int32,
});
export type DaemonSetSpec = Infer<typeof DaemonSetSpecSchema>;

export const DaemonSetConditionSchema = object('DaemonSetCondition', {
  type: required(string),
  status: required(ConditionStatusSchema),
  lastTransitionTime: time,
  reason: string,
  message: string,
});
export type DaemonSetCondition = Infer<typeof DaemonSetConditionSchema>;

export const DaemonSetStatusSchema = object('DaemonSetStatus', {
  currentNumberScheduled: required(int32),
  numberMisscheduled: required(int32),
  desiredNumberScheduled: required(int32),
  numberReady: required(int32),
  observedGeneration: int64,
  updatedNumberScheduled: int32,
  numberAvailable: int32,
  numberUnavailable: int32,
  collisionCount: int32,
  conditions: array(DaemonSetConditionSchema, ['type']),
});
export type DaemonSetStatus = Infer<typeof DaemonSetStatusSchema>;

export const DaemonSetSchema = object('DaemonSet', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  spec: required(DaemonSetSpecSchema),
  status: DaemonSetStatusSchema,
});
export type DaemonSet = Infer<typeof DaemonSetSchema>;

export const DaemonSetListSchema = object('DaemonSetList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(DaemonSetSchema)),
});
export type DaemonSetList = Infer<typeof DaemonSetListSchema>;
