/** Answers of custom.metrics.k8s.io and external.metrics.k8s.io. The fields follow k8s.io/metrics. */
import { LabelSelectorSchema, ObjectReferenceSchema } from '../core/meta.ts';
import { array, int64, map, object, quantity, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';

/** Both versions of MetricValue: the metric's name is a field of its own in v1beta1, and nested in v1beta2. */
const MetricValueSchema = object('MetricValue', {
  describedObject: required(ObjectReferenceSchema),
  metricName: string,
  metric: object('MetricIdentifier', { name: required(string), selector: LabelSelectorSchema }),
  timestamp: string,
  windowSeconds: int64,
  value: required(quantity),
});
export type MetricValue = Infer<typeof MetricValueSchema>;
export const MetricValueListSchema = object('MetricValueList', { items: required(array(MetricValueSchema)) });

export const ExternalMetricValueListSchema = object('ExternalMetricValueList', {
  items: required(
    array(
      object('ExternalMetricValue', {
        metricName: string,
        metricLabels: map(string),
        timestamp: string,
        windowSeconds: int64,
        value: required(quantity),
      }),
    ),
  ),
});
