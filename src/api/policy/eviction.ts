/**
 * Eviction of policy/v1: the body of a request to delete a pod if its disruption budgets allow it. The fields follow
 * k8s.io/api/policy/v1.
 */
import { field, filled, object, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { DeleteOptionsSchema } from '../core/delete-options.ts';
import { ObjectMetaSchema } from '../core/meta.ts';

export const EvictionSchema = object('Eviction', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  deleteOptions: field(2, DeleteOptionsSchema),
});
export type Eviction = Infer<typeof EvictionSchema>;
