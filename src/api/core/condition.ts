/** Condition of meta/v1, which newer kinds share. */
import { field, int64, object, required, string, time } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ConditionStatusSchema } from './pod-status.ts';

export const ConditionSchema = object('Condition', {
  type: required(1, string),
  status: required(2, ConditionStatusSchema),
  observedGeneration: field(3, int64),
  lastTransitionTime: field(4, time, { mustBeWritten: true }),
  reason: required(5, string),
  message: required(6, string),
});
export type Condition = Infer<typeof ConditionSchema>;
