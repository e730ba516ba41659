import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  CrossVersionObjectReferenceSchema,
  HorizontalPodAutoscalerSchema,
  HorizontalPodAutoscalerSpecSchema,
  HorizontalPodAutoscalerStatusSchema,
} from './horizontal-pod-autoscaler-v1.ts';

export const docs: readonly TypeDocs[] = [
  describe(CrossVersionObjectReferenceSchema, 'Names an object of the same namespace.', {
    kind: 'The kind of the object.',
    name: 'The name of the object.',
    apiVersion: 'The group and version of the kind, such as apps/v1.',
  }),
  describe(HorizontalPodAutoscalerSpecSchema, 'The desired behaviour of an autoscaler.', {
    scaleTargetRef: 'The workload whose number of pods is set. It must have a scale subresource.',
    minReplicas: 'The lowest number of pods. Default 1.',
    maxReplicas: 'The highest number of pods. Not below minReplicas.',
    targetCPUUtilizationPercentage:
      'The target average CPU usage of the pods, in percent of their requests. Default 80, if there is no other metric.',
  }),
  describe(HorizontalPodAutoscalerStatusSchema, 'The state of an autoscaler.', {
    observedGeneration: 'The generation that the status is about.',
    lastScaleTime: 'When the number of pods was last changed.',
    currentReplicas: 'The number of pods when the autoscaler last checked.',
    desiredReplicas: 'The number of pods that the autoscaler last computed.',
    currentCPUUtilizationPercentage: 'The average CPU usage of the pods, in percent of their requests.',
  }),
  describe(
    HorizontalPodAutoscalerSchema,
    'Sets the number of pods of a workload by the CPU they use. autoscaling/v2 has all metrics.',
    {},
  ),
];
