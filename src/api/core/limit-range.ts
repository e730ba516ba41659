/** LimitRange of core/v1. Which fields exist follows k8s.io/api/core/v1. */
import { array, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ListMetaSchema, ObjectMetaSchema } from './meta.ts';
import { ResourceListSchema } from './resource-requirements.ts';

export const LimitRangeItemSchema = object('LimitRangeItem', {
  type: required(string),
  max: ResourceListSchema,
  min: ResourceListSchema,
  default: ResourceListSchema,
  defaultRequest: ResourceListSchema,
  maxLimitRequestRatio: ResourceListSchema,
});
export type LimitRangeItem = Infer<typeof LimitRangeItemSchema>;

export const LimitRangeSpecSchema = object('LimitRangeSpec', {
  limits: required(array(LimitRangeItemSchema)),
});
export type LimitRangeSpec = Infer<typeof LimitRangeSpecSchema>;

export const LimitRangeSchema = object('LimitRange', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  spec: required(LimitRangeSpecSchema),
});
export type LimitRange = Infer<typeof LimitRangeSchema>;

export const LimitRangeListSchema = object('LimitRangeList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(LimitRangeSchema)),
});
export type LimitRangeList = Infer<typeof LimitRangeListSchema>;
