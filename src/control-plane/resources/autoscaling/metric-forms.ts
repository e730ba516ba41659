import type { Infer } from '../../../api/schema/schema.ts';
import { array, int32, knownValues, object, quantity, required, string } from '../../../api/schema/schema.ts';
import type { MetricSpec, MetricTarget } from '../../../api/autoscaling/horizontal-pod-autoscaler.ts';
import {
  CrossVersionObjectReferenceSchema,
  metricSourceTypes,
} from '../../../api/autoscaling/horizontal-pod-autoscaler.ts';
import { LabelSelectorSchema } from '../../../api/core/meta.ts';

/** Metrics in the form of autoscaling/v1: as JSON in an annotation, not as fields. */
const AnnotatedMetricSchema = object('MetricSpec', {
  type: required(knownValues(...metricSourceTypes)),
  object: object('ObjectMetricSource', {
    target: required(CrossVersionObjectReferenceSchema),
    metricName: required(string),
    targetValue: required(quantity),
    selector: LabelSelectorSchema,
    averageValue: quantity,
  }),
  pods: object('PodsMetricSource', {
    metricName: required(string),
    targetAverageValue: required(quantity),
    selector: LabelSelectorSchema,
  }),
  resource: object('ResourceMetricSource', {
    name: required(string),
    targetAverageUtilization: int32,
    targetAverageValue: quantity,
  }),
  containerResource: object('ContainerResourceMetricSource', {
    name: required(string),
    targetAverageUtilization: int32,
    targetAverageValue: quantity,
    container: required(string),
  }),
  external: object('ExternalMetricSource', {
    metricName: required(string),
    metricSelector: LabelSelectorSchema,
    targetValue: quantity,
    targetAverageValue: quantity,
  }),
});
export type AnnotatedMetric = Infer<typeof AnnotatedMetricSchema>;
export const AnnotatedMetricsSchema = array(AnnotatedMetricSchema);

export const selected = <Selector>(selector: Selector | undefined) => (selector === undefined ? {} : { selector });

/** Converts a metric. The fields have upstream's order, because clients compare the text. */
export function annotatedMetric(metric: MetricSpec): AnnotatedMetric {
  const { object: ofObject, pods, resource, containerResource, external } = metric;
  return {
    type: metric.type,
    ...(ofObject !== undefined && {
      object: {
        target: orderedReference(ofObject.describedObject),
        metricName: ofObject.metric.name,
        targetValue: ofObject.target.value ?? '0',
        ...selected(ofObject.metric.selector),
        ...(ofObject.target.averageValue !== undefined && { averageValue: ofObject.target.averageValue }),
      },
    }),
    ...(pods !== undefined && {
      pods: {
        metricName: pods.metric.name,
        targetAverageValue: pods.target.averageValue ?? '0',
        ...selected(pods.metric.selector),
      },
    }),
    ...(resource !== undefined && { resource: { name: resource.name, ...averages(resource.target) } }),
    ...(containerResource !== undefined && {
      containerResource: {
        name: containerResource.name,
        ...averages(containerResource.target),
        container: containerResource.container,
      },
    }),
    ...(external !== undefined && {
      external: {
        metricName: external.metric.name,
        ...(external.metric.selector !== undefined && { metricSelector: external.metric.selector }),
        ...(external.target.value !== undefined && { targetValue: external.target.value }),
        ...(external.target.averageValue !== undefined && { targetAverageValue: external.target.averageValue }),
      },
    }),
  };
}

const averages = ({ averageUtilization, averageValue }: MetricTarget) => ({
  ...(averageUtilization !== undefined && { targetAverageUtilization: averageUtilization }),
  ...(averageValue !== undefined && { targetAverageValue: averageValue }),
});

type AnnotatedReference = Infer<typeof CrossVersionObjectReferenceSchema>;
export const orderedReference = ({ kind, name, apiVersion }: AnnotatedReference): AnnotatedReference => ({
  kind,
  name,
  ...(apiVersion !== undefined && { apiVersion }),
});

export function metricOf(metric: AnnotatedMetric): MetricSpec {
  const { object: ofObject, pods, resource, containerResource, external } = metric;
  return {
    type: metric.type,
    ...(ofObject !== undefined && {
      object: {
        describedObject: ofObject.target,
        target: objectTarget(ofObject),
        metric: { name: ofObject.metricName, ...selected(ofObject.selector) },
      },
    }),
    ...(pods !== undefined && {
      pods: {
        metric: { name: pods.metricName, ...selected(pods.selector) },
        target: { type: 'AverageValue', averageValue: amountOf(pods.targetAverageValue) },
      },
    }),
    ...(resource !== undefined && { resource: { name: resource.name, target: resourceTarget(resource) } }),
    ...(containerResource !== undefined && {
      containerResource: {
        name: containerResource.name,
        target: resourceTarget(containerResource),
        container: containerResource.container,
      },
    }),
    ...(external !== undefined && {
      external: {
        metric: { name: external.metricName, ...selected(external.metricSelector) },
        target: {
          type: external.targetValue === undefined ? 'AverageValue' : 'Value',
          ...(external.targetValue !== undefined && { value: external.targetValue }),
          ...(external.targetAverageValue !== undefined && { averageValue: external.targetAverageValue }),
        },
      },
    }),
  };
}

/** In version 1 the value is required. Beside an average, 0 means that it is absent. */
function objectTarget({ targetValue, averageValue }: NonNullable<AnnotatedMetric['object']>): MetricTarget {
  const value = amountOf(targetValue);
  if (averageValue === undefined) return { type: 'Value', value };
  return { type: 'AverageValue', ...(value !== '0' && { value }), averageValue };
}

/** Returns the amount. An absent value is zero, as in a Go struct. */
export const amountOf = (amount: string): string => (amount === '' ? '0' : amount);

function resourceTarget({
  targetAverageUtilization,
  targetAverageValue,
}: {
  readonly targetAverageUtilization?: number;
  readonly targetAverageValue?: string;
}): MetricTarget {
  return {
    type: targetAverageUtilization === undefined ? 'AverageValue' : 'Utilization',
    ...(targetAverageValue !== undefined && { averageValue: targetAverageValue }),
    ...(targetAverageUtilization !== undefined && { averageUtilization: targetAverageUtilization }),
  };
}
