/** RuntimeClass of node.k8s.io/v1. Which fields exist follows k8s.io/api/node/v1. */
import { array, atomic, map, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ListMetaSchema, ObjectMetaSchema } from '../core/meta.ts';
import { ResourceListSchema } from '../core/resource-requirements.ts';
import { TolerationSchema } from '../core/scheduling.ts';

export const OverheadSchema = object('Overhead', {
  podFixed: ResourceListSchema,
});
export type Overhead = Infer<typeof OverheadSchema>;

export const RuntimeClassSchedulingSchema = object('Scheduling', {
  nodeSelector: atomic(map(string)),
  tolerations: array(TolerationSchema),
});
export type RuntimeClassScheduling = Infer<typeof RuntimeClassSchedulingSchema>;

/** Not in any namespace. */
export const RuntimeClassSchema = object('RuntimeClass', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  handler: required(string),
  overhead: OverheadSchema,
  scheduling: RuntimeClassSchedulingSchema,
});
export type RuntimeClass = Infer<typeof RuntimeClassSchema>;

export const RuntimeClassListSchema = object('RuntimeClassList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(RuntimeClassSchema)),
});
export type RuntimeClassList = Infer<typeof RuntimeClassListSchema>;
