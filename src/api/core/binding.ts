/** Binding of core/v1: the body that puts a pod on a node. The fields follow k8s.io/api/core/v1. */
import { filled, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema, ObjectReferenceSchema } from './meta.ts';

export const BindingSchema = object('Binding', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  target: required(2, ObjectReferenceSchema),
});
export type Binding = Infer<typeof BindingSchema>;
