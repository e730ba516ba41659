/**
 * PodTemplate and PodTemplateSpec of core/v1, from which controllers create pods. The fields follow k8s.io/api/core/v1.
 */
import { filled, object, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { EmbeddedObjectMetaSchema, ObjectMetaSchema } from './meta.ts';
import { PodSpecSchema } from './pod-spec.ts';

export const PodTemplateSpecSchema = object('PodTemplateSpec', {
  metadata: filled(1, EmbeddedObjectMetaSchema),
  spec: filled(2, PodSpecSchema),
});
export type PodTemplateSpec = Infer<typeof PodTemplateSpecSchema>;

export const PodTemplateSchema = object('PodTemplate', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  template: filled(2, PodTemplateSpecSchema),
});
export type PodTemplate = Infer<typeof PodTemplateSchema>;
