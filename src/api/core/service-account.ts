/** ServiceAccount of core/v1. Which fields exist follows k8s.io/api/core/v1. */
import { array, boolean, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ListMetaSchema, LocalObjectReferenceSchema, ObjectMetaSchema, ObjectReferenceSchema } from './meta.ts';

export const ServiceAccountSchema = object('ServiceAccount', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  secrets: array(ObjectReferenceSchema, ['name']),
  imagePullSecrets: array(LocalObjectReferenceSchema),
  automountServiceAccountToken: boolean,
});
export type ServiceAccount = Infer<typeof ServiceAccountSchema>;

export const ServiceAccountListSchema = object('ServiceAccountList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(ServiceAccountSchema)),
});
export type ServiceAccountList = Infer<typeof ServiceAccountListSchema>;
