/** Pod of core/v1. The fields follow k8s.io/api/core/v1. */
import { field, filled, object, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from './meta.ts';
import { PodSpecSchema } from './pod-spec.ts';
import { PodStatusSchema } from './pod-status.ts';

/** After decoding, `metadata` and `spec` always exist; `status` only if it was given. */
export const PodSchema = object('Pod', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: filled(2, PodSpecSchema),
  status: field(3, PodStatusSchema),
});
export type Pod = Infer<typeof PodSchema>;
