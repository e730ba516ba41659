/**
 * HorizontalPodAutoscaler of autoscaling/v1. It only has a target for CPU; other metrics are in annotations. The fields
 * follow k8s.io/api/autoscaling/v1.
 */
import { atomic, field, filled, int32, int64, object, pointer, required, string, time } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';

export const CrossVersionObjectReferenceSchema = atomic(
  object('CrossVersionObjectReference', {
    kind: required(1, string),
    name: required(2, string),
    apiVersion: field(3, string),
  }),
);
export type CrossVersionObjectReference = Infer<typeof CrossVersionObjectReferenceSchema>;

export const HorizontalPodAutoscalerSpecSchema = object('HorizontalPodAutoscalerSpec', {
  scaleTargetRef: required(1, CrossVersionObjectReferenceSchema),
  minReplicas: pointer(2, int32),
  maxReplicas: required(3, int32),
  targetCPUUtilizationPercentage: pointer(4, int32),
});
export type HorizontalPodAutoscalerSpec = Infer<typeof HorizontalPodAutoscalerSpecSchema>;

export const HorizontalPodAutoscalerStatusSchema = object('HorizontalPodAutoscalerStatus', {
  observedGeneration: pointer(1, int64),
  lastScaleTime: field(2, time),
  currentReplicas: required(3, int32),
  desiredReplicas: required(4, int32),
  currentCPUUtilizationPercentage: pointer(5, int32),
});
export type HorizontalPodAutoscalerStatus = Infer<typeof HorizontalPodAutoscalerStatusSchema>;

export const HorizontalPodAutoscalerSchema = object('HorizontalPodAutoscaler', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: required(2, HorizontalPodAutoscalerSpecSchema),
  status: field(3, HorizontalPodAutoscalerStatusSchema),
});
export type HorizontalPodAutoscaler = Infer<typeof HorizontalPodAutoscalerSchema>;
