/** Pod and PodList of core/v1. Which fields exist follows k8s.io/api/core/v1. */
import { array, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ListMetaSchema, ObjectMetaSchema } from './meta.ts';
import { PodSpecSchema } from './pod-spec.ts';
import { PodStatusSchema } from './pod-status.ts';

/** `metadata` and `spec` are always there after decoding; `status` only if it was given. */
export const PodSchema = object('Pod', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  spec: required(PodSpecSchema),
  status: PodStatusSchema,
});
export type Pod = Infer<typeof PodSchema>;

export const PodListSchema = object('PodList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(PodSchema)),
});
export type PodList = Infer<typeof PodListSchema>;
