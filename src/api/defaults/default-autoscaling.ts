import type { HorizontalPodAutoscaler as V1Autoscaler } from '../autoscaling/horizontal-pod-autoscaler-v1.ts';
import type { HPAScalingRules, HorizontalPodAutoscaler, MetricSpec } from '../autoscaling/horizontal-pod-autoscaler.ts';

/** The target for CPU, in percent of what the pods request. */
const DEFAULT_CPU_PERCENT = 80;
/** The metrics of an autoscaler that specifies none. */
const defaultMetrics: readonly MetricSpec[] = [
  {
    type: 'Resource',
    resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: DEFAULT_CPU_PERCENT } },
  },
];

const scaleUp: HPAScalingRules = {
  stabilizationWindowSeconds: 0,
  selectPolicy: 'Max',
  policies: [
    { type: 'Pods', value: 4, periodSeconds: 15 },
    { type: 'Percent', value: 100, periodSeconds: 15 },
  ],
};

/** The controller sets the window from a flag. */
const scaleDown: HPAScalingRules = {
  selectPolicy: 'Max',
  policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
};

/** A copy with the defaults that the API server sets. */
export function defaultHorizontalPodAutoscaler(autoscaler: HorizontalPodAutoscaler): HorizontalPodAutoscaler {
  const { spec } = autoscaler;
  const { minReplicas = 1, metrics = [], behavior } = spec;
  return {
    ...autoscaler,
    spec: {
      ...spec,
      minReplicas,
      metrics: metrics.length === 0 ? [...defaultMetrics] : metrics,
      ...(behavior !== undefined && {
        behavior: {
          scaleUp: { ...scaleUp, ...behavior.scaleUp },
          scaleDown: { ...scaleDown, ...behavior.scaleDown },
        },
      }),
    },
  };
}

/** Metrics other than CPU are in the annotation `metricsKey`. If there are none, the default is stored. */
export function defaultV1Autoscaler({ metadata, spec, ...rest }: V1Autoscaler, metricsKey: string): V1Autoscaler {
  const isBare = spec.targetCPUUtilizationPercentage === undefined && !metadata.annotations?.[metricsKey];
  return {
    ...rest,
    metadata,
    spec: {
      ...spec,
      minReplicas: spec.minReplicas ?? 1,
      ...(isBare && { targetCPUUtilizationPercentage: DEFAULT_CPU_PERCENT }),
    },
  };
}
