/**
 * Scale of autoscaling/v1: the number of replicas, as the `scale` subresource shows it. The fields follow
 * k8s.io/api/autoscaling/v1.
 */
import { field, filled, int32, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';

export const ScaleSpecSchema = object('ScaleSpec', {
  replicas: field(1, int32),
});
export type ScaleSpec = Infer<typeof ScaleSpecSchema>;

export const ScaleStatusSchema = object('ScaleStatus', {
  replicas: required(1, int32),
  selector: field(2, string),
});
export type ScaleStatus = Infer<typeof ScaleStatusSchema>;

export const ScaleSchema = object('Scale', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: filled(2, ScaleSpecSchema),
  status: field(3, ScaleStatusSchema),
});
export type Scale = Infer<typeof ScaleSchema>;
