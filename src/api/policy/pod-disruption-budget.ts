/** PodDisruptionBudget of policy/v1. Which fields exist follows k8s.io/api/policy/v1. */
import {
  array,
  int32,
  int64,
  intOrString,
  map,
  object,
  oneOf,
  replaced,
  required,
  string,
  time,
} from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ConditionSchema } from '../core/condition.ts';
import { LabelSelectorSchema, ListMetaSchema, ObjectMetaSchema } from '../core/meta.ts';

export const PodDisruptionBudgetSpecSchema = object('PodDisruptionBudgetSpec', {
  minAvailable: intOrString,
  selector: replaced(LabelSelectorSchema),
  maxUnavailable: intOrString,
  unhealthyPodEvictionPolicy: oneOf('IfHealthyBudget', 'AlwaysAllow'),
});
export type PodDisruptionBudgetSpec = Infer<typeof PodDisruptionBudgetSpecSchema>;

export const PodDisruptionBudgetStatusSchema = object('PodDisruptionBudgetStatus', {
  observedGeneration: int64,
  disruptedPods: map(time),
  disruptionsAllowed: required(int32),
  currentHealthy: required(int32),
  desiredHealthy: required(int32),
  expectedPods: required(int32),
  conditions: array(ConditionSchema, ['type']),
});
export type PodDisruptionBudgetStatus = Infer<typeof PodDisruptionBudgetStatusSchema>;

export const PodDisruptionBudgetSchema = object('PodDisruptionBudget', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  spec: required(PodDisruptionBudgetSpecSchema),
  status: PodDisruptionBudgetStatusSchema,
});
export type PodDisruptionBudget = Infer<typeof PodDisruptionBudgetSchema>;

export const PodDisruptionBudgetListSchema = object('PodDisruptionBudgetList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(PodDisruptionBudgetSchema)),
});
export type PodDisruptionBudgetList = Infer<typeof PodDisruptionBudgetListSchema>;
