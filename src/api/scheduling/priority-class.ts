/** PriorityClass of scheduling.k8s.io/v1; in no namespace. Which fields exist follows k8s.io/api/scheduling/v1. */
import { array, boolean, int32, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ListMetaSchema, ObjectMetaSchema } from '../core/meta.ts';
import { PreemptionPolicySchema } from '../core/pod-spec.ts';

export const PriorityClassSchema = object('PriorityClass', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  value: required(int32),
  globalDefault: boolean,
  description: string,
  preemptionPolicy: PreemptionPolicySchema,
});
export type PriorityClass = Infer<typeof PriorityClassSchema>;

export const PriorityClassListSchema = object('PriorityClassList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(PriorityClassSchema)),
});
export type PriorityClassList = Infer<typeof PriorityClassListSchema>;
