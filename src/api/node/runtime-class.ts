/** RuntimeClass of node.k8s.io/v1. The fields follow k8s.io/api/node/v1. */
import { array, atomic, field, filled, map, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';
import { ResourceListSchema } from '../core/resource-requirements.ts';
import { TolerationSchema } from '../core/scheduling.ts';

export const OverheadSchema = object('Overhead', {
  podFixed: field(1, ResourceListSchema),
});
export type Overhead = Infer<typeof OverheadSchema>;

export const RuntimeClassSchedulingSchema = object('Scheduling', {
  nodeSelector: field(1, atomic(map(string))),
  tolerations: field(2, array(TolerationSchema)),
});
export type RuntimeClassScheduling = Infer<typeof RuntimeClassSchedulingSchema>;

/** Cluster-scoped. */
export const RuntimeClassSchema = object('RuntimeClass', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  handler: required(2, string),
  overhead: field(3, OverheadSchema),
  scheduling: field(4, RuntimeClassSchedulingSchema),
});
export type RuntimeClass = Infer<typeof RuntimeClassSchema>;
