import type {
  CrossVersionObjectReference,
  MetricIdentifier,
} from '../../../api/autoscaling/horizontal-pod-autoscaler.ts';

/** A value of one pod. Values are in thousandths, as whole numbers: of memory they are too large for a `number`. */
export interface PodMetric {
  readonly milliValue: bigint;
  /** The end of the measured interval, in wall milliseconds. */
  readonly atMs: number;
  /** The length of the interval. */
  readonly windowMs: number;
}

export type PodMetrics = ReadonlyMap<string, PodMetric>;

/** The source of metric values. Rejects with upstream's message if there are none. */
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
