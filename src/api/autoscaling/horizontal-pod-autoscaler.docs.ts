import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  ContainerResourceMetricSourceSchema,
  ContainerResourceMetricStatusSchema,
  CrossVersionObjectReferenceSchema,
  ExternalMetricSourceSchema,
  ExternalMetricStatusSchema,
  HPAScalingPolicySchema,
  HPAScalingRulesSchema,
  HorizontalPodAutoscalerBehaviorSchema,
  HorizontalPodAutoscalerConditionSchema,
  HorizontalPodAutoscalerSchema,
  HorizontalPodAutoscalerSpecSchema,
  HorizontalPodAutoscalerStatusSchema,
  MetricIdentifierSchema,
  MetricSpecSchema,
  MetricStatusSchema,
  MetricTargetSchema,
  MetricValueStatusSchema,
  ObjectMetricSourceSchema,
  ObjectMetricStatusSchema,
  PodsMetricSourceSchema,
  PodsMetricStatusSchema,
  ResourceMetricSourceSchema,
  ResourceMetricStatusSchema,
} from './horizontal-pod-autoscaler.ts';

const sources = {
  object: 'A metric of one object, such as the requests of an Ingress.',
  pods: 'A metric of each pod, averaged over the pods.',
  resource: 'CPU or memory of the pods.',
  containerResource: 'CPU or memory of one container of each pod.',
  external: 'A metric that belongs to no object of the cluster, such as the length of a queue.',
};
const METRIC = 'The name of the metric, and which of its series count.';
const TARGET = 'The target value of the metric.';
const CURRENT = 'The value that the metric has.';

export const docs: readonly TypeDocs[] = [
  describe(CrossVersionObjectReferenceSchema, 'Names an object of the same namespace.', {
    kind: 'The kind of the object.',
    name: 'The name of the object.',
    apiVersion: 'The group and version of the kind, such as apps/v1.',
  }),
  describe(MetricIdentifierSchema, 'Names a metric.', {
    name: 'The name of the metric.',
    selector: 'Which series of the metric count, by their labels. Absent: all.',
  }),
  describe(MetricTargetSchema, 'The target value of a metric. Exactly one of the values is set.', {
    type: 'Which of the values is meant.',
    value: 'The value of the whole metric.',
    averageValue: 'The value of the metric divided by the number of pods.',
    averageUtilization: 'The average over the pods, in percent of their requests. For resources only.',
  }),
  describe(ObjectMetricSourceSchema, 'Scales by a metric of one object.', {
    describedObject: 'The object that the metric is about.',
    target: TARGET,
    metric: METRIC,
  }),
  describe(PodsMetricSourceSchema, 'Scales by a metric of each pod.', { metric: METRIC, target: TARGET }),
  describe(ResourceMetricSourceSchema, 'Scales by CPU or memory of the pods.', {
    name: 'The name of the resource: cpu or memory.',
    target: TARGET,
  }),
  describe(ContainerResourceMetricSourceSchema, 'Scales by CPU or memory of one container of each pod.', {
    name: 'The name of the resource: cpu or memory.',
    target: TARGET,
    container: 'The name of the container.',
  }),
  describe(ExternalMetricSourceSchema, 'Scales by a metric from outside the cluster.', {
    metric: METRIC,
    target: TARGET,
  }),
  describe(MetricSpecSchema, 'A metric to scale by. The field that the type names is set, and no other.', {
    type: 'What the metric is about.',
    ...sources,
  }),
  describe(HPAScalingPolicySchema, 'How many pods may be added or removed in a period.', {
    type: 'Whether the value is a number of pods or a percentage.',
    value: 'The number of pods or the percentage; greater than 0.',
    periodSeconds: 'The length of the period in seconds, 1 to 1800.',
  }),
  describe(HPAScalingRulesSchema, 'How quickly the number of pods changes in one direction.', {
    stabilizationWindowSeconds:
      'How far back recommendations count, in seconds, 0 to 3600: pods are removed down to the highest of them, and added up to the lowest. Default 0 for adding, 300 for removing.',
    selectPolicy:
      'Max takes the policy that allows the largest change, Min the smallest; Disabled allows none. Default Max.',
    policies:
      'How many pods may be added or removed in which time. Default for adding: the larger of 4 pods and 100 percent in 15 seconds; for removing: 100 percent in 15 seconds.',
    tolerance:
      'How far a metric may be from its target without a change, as a fraction: 0.05 is 5 percent. Default 0.1.',
  }),
  describe(HorizontalPodAutoscalerBehaviorSchema, 'How quickly the number of pods changes.', {
    scaleUp: 'Rules for adding pods.',
    scaleDown: 'Rules for removing pods.',
  }),
  describe(HorizontalPodAutoscalerSpecSchema, 'The desired behaviour of an autoscaler.', {
    scaleTargetRef: 'The workload whose number of pods is set. It must have a scale subresource.',
    minReplicas: 'The lowest number of pods. Default 1.',
    maxReplicas: 'The highest number of pods. Not below minReplicas.',
    metrics:
      'The metrics to scale by. Each proposes a number of pods, and the highest counts. Default 80 percent of the CPU that pods request.',
    behavior: 'How quickly the number of pods changes. Absent: the defaults of its rules.',
  }),
  describe(MetricValueStatusSchema, 'The value that a metric has.', {
    value: 'The value of the whole metric.',
    averageValue: 'The value of the metric divided by the number of pods.',
    averageUtilization: 'The average over the pods, in percent of their requests.',
  }),
  describe(ObjectMetricStatusSchema, 'The value of a metric of one object.', {
    metric: METRIC,
    current: CURRENT,
    describedObject: 'The object that the metric is about.',
  }),
  describe(PodsMetricStatusSchema, 'The value of a metric of each pod.', { metric: METRIC, current: CURRENT }),
  describe(ResourceMetricStatusSchema, 'The CPU or memory that pods use.', {
    name: 'The name of the resource.',
    current: CURRENT,
  }),
  describe(ContainerResourceMetricStatusSchema, 'The CPU or memory that one container of each pod uses.', {
    name: 'The name of the resource.',
    current: CURRENT,
    container: 'The name of the container.',
  }),
  describe(ExternalMetricStatusSchema, 'The value of a metric from outside the cluster.', {
    metric: METRIC,
    current: CURRENT,
  }),
  describe(MetricStatusSchema, 'The value of a metric.', { type: 'What the metric is about.', ...sources }),
  describe(HorizontalPodAutoscalerConditionSchema, 'One aspect of the state of an autoscaler.', {
    type: 'The type of the condition.',
    status: 'True, False or Unknown.',
    lastTransitionTime: 'When the status last changed.',
    reason: 'The reason of the status, as one word for programs.',
    message: 'The reason of the status, as a text for people.',
  }),
  describe(HorizontalPodAutoscalerStatusSchema, 'The state of an autoscaler.', {
    observedGeneration: 'The generation that the status is about.',
    lastScaleTime: 'When the number of pods was last changed.',
    currentReplicas: 'The number of pods when the autoscaler last checked.',
    desiredReplicas: 'The number of pods that the autoscaler last computed.',
    currentMetrics: 'The values of the metrics when the autoscaler last checked.',
    conditions: 'Whether the autoscaler can scale, has metrics, and is limited.',
  }),
  describe(HorizontalPodAutoscalerSchema, 'Sets the number of pods of a workload by metrics.', {}),
];
