import type { HorizontalPodAutoscaler as V1Autoscaler } from '../autoscaling/horizontal-pod-autoscaler-v1.ts';
import type { HPAScalingRules, HorizontalPodAutoscaler, MetricSpec } from '../autoscaling/horizontal-pod-autoscaler.ts';

/** Percent of the CPU that pods request. */
const DEFAULT_CPU_PERCENT = 80;
/** The metric of an autoscaler that names none. */
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

/** A copy as the API server would have stored it. */
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

/** Metrics other than CPU are in the annotation `metricsKey`; without any, the default is written. */
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
