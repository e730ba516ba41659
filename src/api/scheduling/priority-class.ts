/** PriorityClass of scheduling.k8s.io/v1, cluster-scoped. The fields follow k8s.io/api/scheduling/v1. */
import { boolean, field, filled, int32, object, pointer, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';
import { PreemptionPolicySchema } from '../core/pod-spec.ts';

export const PriorityClassSchema = object('PriorityClass', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  value: filled(2, int32),
  globalDefault: field(3, boolean),
  description: field(4, string),
  preemptionPolicy: pointer(5, PreemptionPolicySchema),
});
export type PriorityClass = Infer<typeof PriorityClassSchema>;
