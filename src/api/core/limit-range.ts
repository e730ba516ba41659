/** LimitRange of core/v1. The fields follow k8s.io/api/core/v1. */
import { array, field, filled, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from './meta.ts';
import { ResourceListSchema } from './resource-requirements.ts';

export const LimitRangeItemSchema = object('LimitRangeItem', {
  type: required(1, string),
  max: field(2, ResourceListSchema),
  min: field(3, ResourceListSchema),
  default: field(4, ResourceListSchema),
  defaultRequest: field(5, ResourceListSchema),
  maxLimitRequestRatio: field(6, ResourceListSchema),
});
export type LimitRangeItem = Infer<typeof LimitRangeItemSchema>;

export const LimitRangeSpecSchema = object('LimitRangeSpec', {
  limits: required(1, array(LimitRangeItemSchema)),
});
export type LimitRangeSpec = Infer<typeof LimitRangeSpecSchema>;

export const LimitRangeSchema = object('LimitRange', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: filled(2, LimitRangeSpecSchema),
});
export type LimitRange = Infer<typeof LimitRangeSchema>;
