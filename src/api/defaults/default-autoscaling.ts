import type { HorizontalPodAutoscaler as V1Autoscaler } from '../autoscaling/horizontal-pod-autoscaler-v1.ts';
import type { HPAScalingRules, HorizontalPodAutoscaler, MetricSpec } from '../autoscaling/horizontal-pod-autoscaler.ts';

/** What an autoscaler scales by that names no metric: 80 percent of the CPU that pods request. */
const defaultMetrics: readonly MetricSpec[] = [
  { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } },
];

const scaleUp: HPAScalingRules = {
  stabilizationWindowSeconds: 0,
  selectPolicy: 'Max',
  policies: [
    { type: 'Pods', value: 4, periodSeconds: 15 },
    { type: 'Percent', value: 100, periodSeconds: 15 },
  ],
};

/** The controller has the window: a flag says how long it is. */
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

/** Metrics have their default in the form that is stored. */
export function defaultV1Autoscaler(autoscaler: V1Autoscaler): V1Autoscaler {
  return { ...autoscaler, spec: { ...autoscaler.spec, minReplicas: autoscaler.spec.minReplicas ?? 1 } };
}
