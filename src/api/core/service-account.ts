/** ServiceAccount of core/v1. The fields follow k8s.io/api/core/v1. */
import { array, boolean, field, filled, object, pointer, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { LocalObjectReferenceSchema, ObjectMetaSchema, ObjectReferenceSchema } from './meta.ts';

export const ServiceAccountSchema = object('ServiceAccount', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  secrets: field(2, array(ObjectReferenceSchema, ['name'])),
  imagePullSecrets: field(3, array(LocalObjectReferenceSchema)),
  automountServiceAccountToken: pointer(4, boolean),
});
export type ServiceAccount = Infer<typeof ServiceAccountSchema>;
