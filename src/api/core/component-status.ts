/** ComponentStatus of core/v1. The fields follow k8s.io/api/core/v1. */
import { array, field, filled, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from './meta.ts';

export const ComponentConditionSchema = object('ComponentCondition', {
  type: required(1, string),
  status: required(2, string),
  message: field(3, string),
  error: field(4, string),
});
export type ComponentCondition = Infer<typeof ComponentConditionSchema>;

export const ComponentStatusSchema = object('ComponentStatus', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  conditions: field(2, array(ComponentConditionSchema, ['type'])),
});
export type ComponentStatus = Infer<typeof ComponentStatusSchema>;
