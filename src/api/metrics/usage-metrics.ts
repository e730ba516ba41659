/** NodeMetrics and PodMetrics of metrics.k8s.io/v1beta1. The fields follow k8s.io/metrics. */
import { ObjectMetaSchema } from '../core/meta.ts';
import { ResourceListSchema } from '../core/resource-requirements.ts';
import { array, filled, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';

const common = {
  kind: string,
  apiVersion: string,
  metadata: filled(ObjectMetaSchema),
  /** The end of the measured interval. */
  timestamp: required(string),
  /** The length of the measured interval, such as `15.07s`. */
  window: required(string),
};

export const NodeMetricsSchema = object('NodeMetrics', { ...common, usage: required(ResourceListSchema) });
export type NodeMetrics = Infer<typeof NodeMetricsSchema>;

const ContainerMetricsSchema = object('ContainerMetrics', {
  name: required(string),
  usage: required(ResourceListSchema),
});
export type ContainerMetrics = Infer<typeof ContainerMetricsSchema>;

export const PodMetricsSchema = object('PodMetrics', {
  ...common,
  containers: required(array(ContainerMetricsSchema)),
});
export type PodMetrics = Infer<typeof PodMetricsSchema>;

export const PodMetricsListSchema = object('PodMetricsList', { items: required(array(PodMetricsSchema)) });
