import type { Infer } from '../../../api/schema/schema.ts';
import { array, int32, knownValues, object, quantity, required, string } from '../../../api/schema/schema.ts';
import type { MetricStatus, MetricValueStatus } from '../../../api/autoscaling/horizontal-pod-autoscaler.ts';
import {
  CrossVersionObjectReferenceSchema,
  metricSourceTypes,
} from '../../../api/autoscaling/horizontal-pod-autoscaler.ts';
import { LabelSelectorSchema } from '../../../api/core/meta.ts';
import { amountOf, orderedReference, selected } from './metric-forms.ts';

/** Values of metrics in the form of autoscaling/v1: as JSON in an annotation. */
const AnnotatedStatusSchema = object('MetricStatus', {
  type: required(knownValues(...metricSourceTypes)),
  object: object('ObjectMetricStatus', {
    target: required(CrossVersionObjectReferenceSchema),
    metricName: required(string),
    currentValue: required(quantity),
    selector: LabelSelectorSchema,
    averageValue: quantity,
  }),
  pods: object('PodsMetricStatus', {
    metricName: required(string),
    currentAverageValue: required(quantity),
    selector: LabelSelectorSchema,
  }),
  resource: object('ResourceMetricStatus', {
    name: required(string),
    currentAverageUtilization: int32,
    currentAverageValue: required(quantity),
  }),
  containerResource: object('ContainerResourceMetricStatus', {
    name: required(string),
    currentAverageUtilization: int32,
    currentAverageValue: required(quantity),
    container: required(string),
  }),
  external: object('ExternalMetricStatus', {
    metricName: required(string),
    metricSelector: LabelSelectorSchema,
    currentValue: required(quantity),
    currentAverageValue: quantity,
  }),
});
export type AnnotatedStatus = Infer<typeof AnnotatedStatusSchema>;
export const AnnotatedStatusesSchema = array(AnnotatedStatusSchema);

export function annotatedStatus(status: MetricStatus): AnnotatedStatus {
  const { object: ofObject, pods, resource, containerResource, external } = status;
  return {
    type: status.type,
    ...(ofObject !== undefined && {
      object: {
        target: orderedReference(ofObject.describedObject),
        metricName: ofObject.metric.name,
        currentValue: ofObject.current.value ?? '0',
        ...selected(ofObject.metric.selector),
        ...(ofObject.current.averageValue !== undefined && { averageValue: ofObject.current.averageValue }),
      },
    }),
    ...(pods !== undefined && {
      pods: {
        metricName: pods.metric.name,
        currentAverageValue: pods.current.averageValue ?? '0',
        ...selected(pods.metric.selector),
      },
    }),
    ...(resource !== undefined && { resource: { name: resource.name, ...currentAverages(resource.current) } }),
    ...(containerResource !== undefined && {
      containerResource: {
        name: containerResource.name,
        ...currentAverages(containerResource.current),
        container: containerResource.container,
      },
    }),
    ...(external !== undefined && {
      external: {
        metricName: external.metric.name,
        ...(external.metric.selector !== undefined && { metricSelector: external.metric.selector }),
        currentValue: external.current.value ?? '0',
        ...(external.current.averageValue !== undefined && { currentAverageValue: external.current.averageValue }),
      },
    }),
  };
}

const currentAverages = ({ averageUtilization, averageValue }: MetricValueStatus) => ({
  ...(averageUtilization !== undefined && { currentAverageUtilization: averageUtilization }),
  currentAverageValue: averageValue ?? '0',
});

const currentOf = ({
  currentAverageUtilization,
  currentAverageValue,
}: {
  readonly currentAverageUtilization?: number;
  readonly currentAverageValue: string;
}): MetricValueStatus => ({
  averageValue: amountOf(currentAverageValue),
  ...(currentAverageUtilization !== undefined && { averageUtilization: currentAverageUtilization }),
});

export function statusOf(status: AnnotatedStatus): MetricStatus {
  const { object: ofObject, pods, resource, containerResource, external } = status;
  return {
    type: status.type,
    ...(ofObject !== undefined && {
      object: {
        metric: { name: ofObject.metricName, ...selected(ofObject.selector) },
        current: {
          value: amountOf(ofObject.currentValue),
          ...(ofObject.averageValue !== undefined && { averageValue: ofObject.averageValue }),
        },
        describedObject: ofObject.target,
      },
    }),
    ...(pods !== undefined && {
      pods: {
        metric: { name: pods.metricName, ...selected(pods.selector) },
        current: { averageValue: amountOf(pods.currentAverageValue) },
      },
    }),
    ...(resource !== undefined && { resource: { name: resource.name, current: currentOf(resource) } }),
    ...(containerResource !== undefined && {
      containerResource: {
        name: containerResource.name,
        current: currentOf(containerResource),
        container: containerResource.container,
      },
    }),
    ...(external !== undefined && {
      external: {
        metric: { name: external.metricName, ...selected(external.metricSelector) },
        current: {
          value: amountOf(external.currentValue),
          ...(external.currentAverageValue !== undefined && { averageValue: external.currentAverageValue }),
        },
      },
    }),
  };
}
