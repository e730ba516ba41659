/** HorizontalPodAutoscaler of autoscaling/v2. The fields follow k8s.io/api/autoscaling/v2. */
import {
  array,
  field,
  filled,
  int32,
  int64,
  knownValues,
  object,
  pointer,
  quantity,
  required,
  string,
  time,
} from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { LabelSelectorSchema, ObjectMetaSchema } from '../core/meta.ts';

export const CrossVersionObjectReferenceSchema = object('CrossVersionObjectReference', {
  kind: required(1, string),
  name: required(2, string),
  apiVersion: field(3, string),
});
export type CrossVersionObjectReference = Infer<typeof CrossVersionObjectReferenceSchema>;

export const MetricIdentifierSchema = object('MetricIdentifier', {
  name: required(1, string),
  selector: field(2, LabelSelectorSchema),
});
export type MetricIdentifier = Infer<typeof MetricIdentifierSchema>;

export const MetricTargetSchema = object('MetricTarget', {
  type: required(1, knownValues('Utilization', 'Value', 'AverageValue')),
  value: pointer(2, quantity),
  averageValue: pointer(3, quantity),
  averageUtilization: pointer(4, int32),
});
export type MetricTarget = Infer<typeof MetricTargetSchema>;

export const ObjectMetricSourceSchema = object('ObjectMetricSource', {
  describedObject: required(1, CrossVersionObjectReferenceSchema),
  target: required(2, MetricTargetSchema),
  metric: required(3, MetricIdentifierSchema),
});
export type ObjectMetricSource = Infer<typeof ObjectMetricSourceSchema>;

export const PodsMetricSourceSchema = object('PodsMetricSource', {
  metric: required(1, MetricIdentifierSchema),
  target: required(2, MetricTargetSchema),
});
export type PodsMetricSource = Infer<typeof PodsMetricSourceSchema>;

export const ResourceMetricSourceSchema = object('ResourceMetricSource', {
  name: required(1, string),
  target: required(2, MetricTargetSchema),
});
export type ResourceMetricSource = Infer<typeof ResourceMetricSourceSchema>;

export const ContainerResourceMetricSourceSchema = object('ContainerResourceMetricSource', {
  name: required(1, string),
  target: required(2, MetricTargetSchema),
  container: required(3, string),
});
export type ContainerResourceMetricSource = Infer<typeof ContainerResourceMetricSourceSchema>;

export const ExternalMetricSourceSchema = object('ExternalMetricSource', {
  metric: required(1, MetricIdentifierSchema),
  target: required(2, MetricTargetSchema),
});
export type ExternalMetricSource = Infer<typeof ExternalMetricSourceSchema>;

export const metricSourceTypes = ['ContainerResource', 'External', 'Object', 'Pods', 'Resource'] as const;

export const MetricSpecSchema = object('MetricSpec', {
  type: required(1, knownValues(...metricSourceTypes)),
  object: field(2, ObjectMetricSourceSchema),
  pods: field(3, PodsMetricSourceSchema),
  resource: field(4, ResourceMetricSourceSchema),
  containerResource: field(7, ContainerResourceMetricSourceSchema),
  external: field(5, ExternalMetricSourceSchema),
});
export type MetricSpec = Infer<typeof MetricSpecSchema>;

export const HPAScalingPolicySchema = object('HPAScalingPolicy', {
  type: required(1, knownValues('Pods', 'Percent')),
  value: required(2, int32),
  periodSeconds: required(3, int32),
});
export type HPAScalingPolicy = Infer<typeof HPAScalingPolicySchema>;

export const HPAScalingRulesSchema = object('HPAScalingRules', {
  stabilizationWindowSeconds: pointer(3, int32),
  selectPolicy: pointer(1, knownValues('Max', 'Min', 'Disabled')),
  policies: pointer(2, array(HPAScalingPolicySchema)),
  tolerance: pointer(4, quantity),
});
export type HPAScalingRules = Infer<typeof HPAScalingRulesSchema>;

export const HorizontalPodAutoscalerBehaviorSchema = object('HorizontalPodAutoscalerBehavior', {
  scaleUp: field(1, HPAScalingRulesSchema),
  scaleDown: field(2, HPAScalingRulesSchema),
});
export type HorizontalPodAutoscalerBehavior = Infer<typeof HorizontalPodAutoscalerBehaviorSchema>;

export const HorizontalPodAutoscalerSpecSchema = object('HorizontalPodAutoscalerSpec', {
  scaleTargetRef: required(1, CrossVersionObjectReferenceSchema),
  minReplicas: pointer(2, int32),
  maxReplicas: required(3, int32),
  metrics: field(4, array(MetricSpecSchema)),
  behavior: field(5, HorizontalPodAutoscalerBehaviorSchema),
});
export type HorizontalPodAutoscalerSpec = Infer<typeof HorizontalPodAutoscalerSpecSchema>;

export const MetricValueStatusSchema = object('MetricValueStatus', {
  value: pointer(1, quantity),
  averageValue: pointer(2, quantity),
  averageUtilization: pointer(3, int32),
});
export type MetricValueStatus = Infer<typeof MetricValueStatusSchema>;

export const ObjectMetricStatusSchema = object('ObjectMetricStatus', {
  metric: required(1, MetricIdentifierSchema),
  current: required(2, MetricValueStatusSchema),
  describedObject: required(3, CrossVersionObjectReferenceSchema),
});
export type ObjectMetricStatus = Infer<typeof ObjectMetricStatusSchema>;

export const PodsMetricStatusSchema = object('PodsMetricStatus', {
  metric: required(1, MetricIdentifierSchema),
  current: required(2, MetricValueStatusSchema),
});
export type PodsMetricStatus = Infer<typeof PodsMetricStatusSchema>;

export const ResourceMetricStatusSchema = object('ResourceMetricStatus', {
  name: required(1, string),
  current: required(2, MetricValueStatusSchema),
});
export type ResourceMetricStatus = Infer<typeof ResourceMetricStatusSchema>;

export const ContainerResourceMetricStatusSchema = object('ContainerResourceMetricStatus', {
  name: required(1, string),
  current: required(2, MetricValueStatusSchema),
  container: required(3, string),
});
export type ContainerResourceMetricStatus = Infer<typeof ContainerResourceMetricStatusSchema>;

export const ExternalMetricStatusSchema = object('ExternalMetricStatus', {
  metric: required(1, MetricIdentifierSchema),
  current: required(2, MetricValueStatusSchema),
});
export type ExternalMetricStatus = Infer<typeof ExternalMetricStatusSchema>;

export const MetricStatusSchema = object('MetricStatus', {
  type: required(1, knownValues(...metricSourceTypes)),
  object: field(2, ObjectMetricStatusSchema),
  pods: field(3, PodsMetricStatusSchema),
  resource: field(4, ResourceMetricStatusSchema),
  containerResource: field(7, ContainerResourceMetricStatusSchema),
  external: field(5, ExternalMetricStatusSchema),
});
export type MetricStatus = Infer<typeof MetricStatusSchema>;

export const HorizontalPodAutoscalerConditionSchema = object('HorizontalPodAutoscalerCondition', {
  type: required(1, knownValues('ScalingActive', 'AbleToScale', 'ScalingLimited')),
  status: required(2, string),
  lastTransitionTime: field(3, time),
  reason: field(4, string),
  message: field(5, string),
});
export type HorizontalPodAutoscalerCondition = Infer<typeof HorizontalPodAutoscalerConditionSchema>;

export const HorizontalPodAutoscalerStatusSchema = object('HorizontalPodAutoscalerStatus', {
  observedGeneration: pointer(1, int64),
  lastScaleTime: field(2, time),
  currentReplicas: field(3, int32),
  desiredReplicas: required(4, int32),
  currentMetrics: field(5, array(MetricStatusSchema)),
  conditions: field(6, array(HorizontalPodAutoscalerConditionSchema, ['type'])),
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
