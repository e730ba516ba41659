export type ScalingAction = 'scale_up' | 'scale_down' | 'none';
/** `spec`: the autoscaler itself is wrong; `internal`: something could not be read, computed or written. */
export type ScalingError = 'spec' | 'internal' | 'none';

export interface ScalingPass {
  readonly action: ScalingAction;
  readonly error: ScalingError;
  readonly durationMs: number;
}

export interface DesiredReplicas {
  readonly namespace: string;
  readonly name: string;
  readonly replicas: number;
}

/** What is counted of HorizontalPodAutoscalers, for Prometheus (upstream: podautoscaler/monitor). */
export interface AutoscalerMetrics {
  reconciled(pass: ScalingPass): void;
  /** `metricType` is that of the metric's spec. */
  computed(pass: ScalingPass & { readonly metricType: string }): void;
  /** `list` is called at each scrape, and has each autoscaler once. */
  listWith(list: () => readonly DesiredReplicas[]): void;
}
