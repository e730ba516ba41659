/** PodDisruptionBudget of policy/v1. The fields follow k8s.io/api/policy/v1. */
import {
  array,
  field,
  filled,
  int32,
  int64,
  intOrString,
  map,
  object,
  oneOf,
  pointer,
  replaced,
  string,
  time,
} from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ConditionSchema } from '../core/condition.ts';
import { LabelSelectorSchema, ObjectMetaSchema } from '../core/meta.ts';

export const PodDisruptionBudgetSpecSchema = object('PodDisruptionBudgetSpec', {
  minAvailable: pointer(1, intOrString),
  selector: field(2, replaced(LabelSelectorSchema)),
  maxUnavailable: pointer(3, intOrString),
  unhealthyPodEvictionPolicy: pointer(4, oneOf('IfHealthyBudget', 'AlwaysAllow')),
});
export type PodDisruptionBudgetSpec = Infer<typeof PodDisruptionBudgetSpecSchema>;

export const PodDisruptionBudgetStatusSchema = object('PodDisruptionBudgetStatus', {
  observedGeneration: field(1, int64),
  disruptedPods: field(2, map(time)),
  disruptionsAllowed: filled(3, int32),
  currentHealthy: filled(4, int32),
  desiredHealthy: filled(5, int32),
  expectedPods: filled(6, int32),
  conditions: field(7, array(ConditionSchema, ['type'])),
});
export type PodDisruptionBudgetStatus = Infer<typeof PodDisruptionBudgetStatusSchema>;

export const PodDisruptionBudgetSchema = object('PodDisruptionBudget', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: filled(2, PodDisruptionBudgetSpecSchema),
  status: field(3, PodDisruptionBudgetStatusSchema),
});
export type PodDisruptionBudget = Infer<typeof PodDisruptionBudgetSchema>;
