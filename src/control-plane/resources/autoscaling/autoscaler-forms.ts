import type {
  HorizontalPodAutoscaler as V1Autoscaler,
  HorizontalPodAutoscalerStatus as V1Status,
} from '../../../api/autoscaling/horizontal-pod-autoscaler-v1.ts';
import type {
  HPAScalingRules,
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerBehavior,
  HorizontalPodAutoscalerStatus,
  MetricSpec,
  MetricStatus,
} from '../../../api/autoscaling/horizontal-pod-autoscaler.ts';
import {
  HorizontalPodAutoscalerBehaviorSchema,
  HorizontalPodAutoscalerConditionSchema,
} from '../../../api/autoscaling/horizontal-pod-autoscaler.ts';
import { defaultHorizontalPodAutoscaler } from '../../../api/defaults/default-autoscaling.ts';
import { goJson } from '../../../api/go-json.ts';
import { decodeAny } from '../../../api/schema/decode.ts';
import { array } from '../../../api/schema/schema.ts';
import type { Schema } from '../../../api/schema/schema.ts';
import type { AnnotatedMetric } from './metric-forms.ts';
import { AnnotatedMetricsSchema, annotatedMetric, metricOf } from './metric-forms.ts';
import type { AnnotatedStatus } from './metric-status-forms.ts';
import { AnnotatedStatusesSchema, annotatedStatus, statusOf } from './metric-status-forms.ts';

/** The annotations of autoscaling/v1 for values without a field. */
export const annotations = {
  metrics: 'autoscaling.alpha.kubernetes.io/metrics',
  behavior: 'autoscaling.alpha.kubernetes.io/behavior',
  currentMetrics: 'autoscaling.alpha.kubernetes.io/current-metrics',
  conditions: 'autoscaling.alpha.kubernetes.io/conditions',
} as const;
const dropped: readonly string[] = [
  ...Object.values(annotations),
  'autoscaling.alpha.kubernetes.io/scale-down-tolerance',
  'autoscaling.alpha.kubernetes.io/scale-up-tolerance',
];
const ConditionsSchema = array(HorizontalPodAutoscalerConditionSchema);

/** Converts an autoscaler of autoscaling/v2 to autoscaling/v1 (upstream: autoscaling/v1 conversion.go). */
export function toV1Autoscaler({ spec, status, ...autoscaler }: HorizontalPodAutoscaler): V1Autoscaler {
  const { metrics = [], behavior, ...shared } = spec;
  const cpu = metrics.find(isCpuUtilization)?.resource?.target.averageUtilization;
  const others = metrics.filter((metric) => !isCpuUtilization(metric));
  const texts = {
    ...(others.length > 0 && { [annotations.metrics]: goJson(others.map(annotatedMetric)) }),
    ...((status?.currentMetrics ?? []).length > 0 && {
      [annotations.currentMetrics]: goJson(status?.currentMetrics?.map(annotatedStatus)),
    }),
    ...(behavior !== undefined && { [annotations.behavior]: goJson(annotatedBehavior(behavior)) }),
    ...((status?.conditions ?? []).length > 0 && {
      [annotations.conditions]: goJson(status?.conditions?.map(annotatedCondition)),
    }),
  };
  const all = { ...withoutDropped(autoscaler.metadata.annotations), ...texts };
  return {
    ...autoscaler,
    apiVersion: 'autoscaling/v1',
    metadata: withAnnotations(autoscaler.metadata, all),
    spec: { ...shared, ...(cpu !== undefined && { targetCPUUtilizationPercentage: cpu }) },
    ...(status !== undefined && { status: toV1Status(status) }),
  };
}

/** Converts in the other direction. Annotations with invalid JSON are ignored. */
export function fromV1Autoscaler({ spec, status, ...autoscaler }: V1Autoscaler): HorizontalPodAutoscaler {
  const { targetCPUUtilizationPercentage: cpu, ...shared } = spec;
  const texts = autoscaler.metadata.annotations ?? {};
  const metrics = [
    ...(read<AnnotatedMetric[]>(AnnotatedMetricsSchema, texts[annotations.metrics]) ?? []).map(metricOf),
    ...(cpu === undefined ? [] : [cpuUtilization(cpu)]),
  ];
  const behavior = readBehavior(texts[annotations.behavior]);
  return defaultHorizontalPodAutoscaler({
    ...autoscaler,
    apiVersion: 'autoscaling/v2',
    metadata: withAnnotations(autoscaler.metadata, withoutDropped(texts)),
    spec: { ...shared, metrics, ...(behavior !== undefined && { behavior }) },
    ...(status !== undefined && { status: fromV1Status(status, texts) }),
  });
}

function toV1Status({ currentMetrics = [], conditions: _, ...shared }: HorizontalPodAutoscalerStatus): V1Status {
  const percent = currentMetrics.findLast(
    ({ type, resource }) =>
      type === 'Resource' && resource?.name === 'cpu' && resource.current.averageUtilization !== undefined,
  )?.resource?.current.averageUtilization;
  return {
    ...shared,
    currentReplicas: shared.currentReplicas ?? 0,
    ...(percent !== undefined && { currentCPUUtilizationPercentage: percent }),
  };
}

function fromV1Status(
  { currentCPUUtilizationPercentage: percent, ...shared }: V1Status,
  texts: Readonly<Record<string, string>>,
): HorizontalPodAutoscalerStatus {
  const own: MetricStatus[] =
    percent === undefined
      ? []
      : [{ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: percent } } }];
  // The annotation has more of the same.
  const currentMetrics =
    read<AnnotatedStatus[]>(AnnotatedStatusesSchema, texts[annotations.currentMetrics])?.map(statusOf) ?? own;
  const conditions = read<Condition[]>(ConditionsSchema, texts[annotations.conditions]);
  return {
    ...shared,
    ...(currentMetrics.length > 0 && { currentMetrics }),
    ...(conditions !== undefined && { conditions }),
  };
}

const isCpuUtilization = ({ type, resource }: MetricSpec): boolean =>
  type === 'Resource' && resource?.name === 'cpu' && resource.target.averageUtilization !== undefined;

const cpuUtilization = (averageUtilization: number): MetricSpec => ({
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } },
});

type Condition = NonNullable<HorizontalPodAutoscalerStatus['conditions']>[number];

const annotatedCondition = ({ type, status, lastTransitionTime, reason, message }: Condition) => ({
  type,
  status,
  lastTransitionTime: lastTransitionTime ?? null,
  ...(reason !== undefined && { reason }),
  ...(message !== undefined && { message }),
});

/** Returns the behavior with Go's field names, because upstream's internal type has no others. */
const annotatedBehavior = ({ scaleUp, scaleDown }: HorizontalPodAutoscalerBehavior) => ({
  ScaleUp: annotatedRules(scaleUp),
  ScaleDown: annotatedRules(scaleDown),
});

const annotatedRules = (rules: HPAScalingRules | undefined) =>
  rules === undefined
    ? null
    : {
        StabilizationWindowSeconds: rules.stabilizationWindowSeconds ?? null,
        SelectPolicy: rules.selectPolicy ?? null,
        Policies:
          rules.policies?.map(({ type, value, periodSeconds }) => ({
            Type: type,
            Value: value,
            PeriodSeconds: periodSeconds,
          })) ?? null,
        Tolerance: rules.tolerance ?? null,
      };

/** Reads the behavior. Go matches field names without regard to case. */
function readBehavior(text: string | undefined): HorizontalPodAutoscalerBehavior | undefined {
  const behavior = read<HorizontalPodAutoscalerBehavior>(HorizontalPodAutoscalerBehaviorSchema, text, (value) =>
    lowered(value, (rules) =>
      lowered(rules, (policies) => (Array.isArray(policies) ? policies.map((policy) => lowered(policy)) : policies)),
    ),
  );
  return behavior?.scaleUp === undefined && behavior?.scaleDown === undefined ? undefined : behavior;
}

function lowered(value: unknown, inner: (value: unknown) => unknown = (same) => same): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name.charAt(0).toLowerCase() + name.slice(1), inner(field)]),
  );
}

/** `T` is the type that `schema` decodes. The compiler would have to expand all schemas to infer it. */
function read<T>(
  schema: Schema,
  text: string | undefined,
  prepare: (value: unknown) => unknown = (value) => value,
): T | undefined {
  if (text === undefined) return undefined;
  let plain: unknown;
  try {
    plain = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { value, errors } = decodeAny(schema, prepare(plain), { mode: 'lenient', maxProblems: 1 });
  return errors.length === 0 && plain !== null ? (value as T) : undefined;
}

function withoutDropped(texts: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).filter(([name]) => !dropped.includes(name)));
}

function withAnnotations(
  { annotations: _, ...metadata }: V1Autoscaler['metadata'],
  texts: Readonly<Record<string, string>>,
): V1Autoscaler['metadata'] {
  return Object.keys(texts).length === 0 ? metadata : { ...metadata, annotations: { ...texts } };
}
