import type {
  CrossVersionObjectReference,
  MetricIdentifier,
} from '../../../api/autoscaling/horizontal-pod-autoscaler.ts';

/** A value of one pod. Values are in thousandths, as whole numbers: of memory they are too large for a `number`. */
export interface PodMetric {
  readonly milliValue: bigint;
  /** The end of the time that the value is of, wall milliseconds. */
  readonly atMs: number;
  /** How long that time was. */
  readonly windowMs: number;
}

export type PodMetrics = ReadonlyMap<string, PodMetric>;

/** Where values of metrics come from. Rejections say why there are none, in upstream's words. */
export interface MetricsSource {
  /** CPU or memory of the pods that the selector matches, by name; of one container where one is named. */
  resource(query: ResourceQuery): Promise<PodMetrics>;
  /** A metric of each pod, by name. */
  pods(namespace: string, podSelector: string, metric: MetricIdentifier): Promise<PodMetrics>;
  /** A metric of one object. */
  object(namespace: string, object: CrossVersionObjectReference, metric: MetricIdentifier): Promise<bigint>;
  /** A metric from outside the cluster: all its series. */
  external(namespace: string, metric: MetricIdentifier): Promise<readonly bigint[]>;
}

export interface ResourceQuery {
  readonly namespace: string;
  readonly podSelector: string;
  readonly resource: string;
  readonly container?: string;
}
