/** Condition of meta/v1, which newer kinds share. */
import { int64, object, required, string, time } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ConditionStatusSchema } from './pod-status.ts';

export const ConditionSchema = object('Condition', {
  type: required(string),
  status: required(ConditionStatusSchema),
  observedGeneration: int64,
  lastTransitionTime: time,
  reason: required(string),
  message: required(string),
});
export type Condition = Infer<typeof ConditionSchema>;
