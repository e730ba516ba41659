/** Scale of autoscaling/v1: how many, as seen through the `scale` subresource. Which fields exist follows k8s.io/api/autoscaling/v1. */
import { int32, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';

export const ScaleSpecSchema = object('ScaleSpec', {
  replicas: int32,
});
export type ScaleSpec = Infer<typeof ScaleSpecSchema>;

export const ScaleStatusSchema = object('ScaleStatus', {
  replicas: required(int32),
  selector: string,
});
export type ScaleStatus = Infer<typeof ScaleStatusSchema>;

export const ScaleSchema = object('Scale', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  spec: required(ScaleSpecSchema),
  status: ScaleStatusSchema,
});
export type Scale = Infer<typeof ScaleSchema>;
