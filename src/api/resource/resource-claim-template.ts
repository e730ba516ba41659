/** ResourceClaimTemplate of resource.k8s.io/v1. The fields follow k8s.io/api/resource/v1. */
import { filled, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { EmbeddedObjectMetaSchema, ObjectMetaSchema } from '../core/meta.ts';
import { ResourceClaimSpecSchema } from './resource-claim.ts';

export const ResourceClaimTemplateSpecSchema = object('ResourceClaimTemplateSpec', {
  metadata: filled(1, EmbeddedObjectMetaSchema),
  spec: required(2, ResourceClaimSpecSchema),
});
export type ResourceClaimTemplateSpec = Infer<typeof ResourceClaimTemplateSpecSchema>;

export const ResourceClaimTemplateSchema = object('ResourceClaimTemplate', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: required(2, ResourceClaimTemplateSpecSchema),
});
export type ResourceClaimTemplate = Infer<typeof ResourceClaimTemplateSchema>;
