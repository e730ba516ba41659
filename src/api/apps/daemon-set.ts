/** DaemonSet of apps/v1. The fields follow k8s.io/api/apps/v1. */
import {
  array,
  field,
  filled,
  int32,
  int64,
  intOrString,
  object,
  oneOf,
  pointer,
  required,
  string,
  time,
} from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { LabelSelectorSchema, ObjectMetaSchema } from '../core/meta.ts';
import { ConditionStatusSchema } from '../core/pod-status.ts';
import { PodTemplateSpecSchema } from '../core/pod-template.ts';

export const RollingUpdateDaemonSetSchema = object('RollingUpdateDaemonSet', {
  maxUnavailable: pointer(1, intOrString),
  maxSurge: pointer(2, intOrString),
});
export type RollingUpdateDaemonSet = Infer<typeof RollingUpdateDaemonSetSchema>;

export const DaemonSetUpdateStrategySchema = object('DaemonSetUpdateStrategy', {
  type: field(1, oneOf('RollingUpdate', 'OnDelete')),
  rollingUpdate: field(2, RollingUpdateDaemonSetSchema),
});
export type DaemonSetUpdateStrategy = Infer<typeof DaemonSetUpdateStrategySchema>;

export const DaemonSetSpecSchema = object('DaemonSetSpec', {
  selector: required(1, LabelSelectorSchema),
  template: required(2, PodTemplateSpecSchema),
  updateStrategy: field(3, DaemonSetUpdateStrategySchema),
  minReadySeconds: field(4, int32),
  revisionHistoryLimit: pointer(6, int32),
});
export type DaemonSetSpec = Infer<typeof DaemonSetSpecSchema>;

export const DaemonSetConditionSchema = object('DaemonSetCondition', {
  type: required(1, string),
  status: required(2, ConditionStatusSchema),
  lastTransitionTime: field(3, time),
  reason: field(4, string),
  message: field(5, string),
});
export type DaemonSetCondition = Infer<typeof DaemonSetConditionSchema>;

export const DaemonSetStatusSchema = object('DaemonSetStatus', {
  currentNumberScheduled: required(1, int32),
  numberMisscheduled: required(2, int32),
  desiredNumberScheduled: required(3, int32),
  numberReady: required(4, int32),
  observedGeneration: field(5, int64),
  updatedNumberScheduled: field(6, int32),
  numberAvailable: field(7, int32),
  numberUnavailable: field(8, int32),
  collisionCount: pointer(9, int32),
  conditions: field(10, array(DaemonSetConditionSchema, ['type'])),
});
export type DaemonSetStatus = Infer<typeof DaemonSetStatusSchema>;

export const DaemonSetSchema = object('DaemonSet', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: filled(2, DaemonSetSpecSchema),
  status: field(3, DaemonSetStatusSchema),
});
export type DaemonSet = Infer<typeof DaemonSetSchema>;
