export type ScalingAction = 'scale_up' | 'scale_down' | 'none';
/** `spec`: the autoscaler's spec is invalid; `internal`: a read, computation or write failed. */
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

/** Observes HorizontalPodAutoscalers, for metrics (upstream: podautoscaler/monitor). */
export interface AutoscalerMetrics {
  reconciled(pass: ScalingPass): void;
  /** `metricType` is that of the metric's spec. */
  computed(pass: ScalingPass & { readonly metricType: string }): void;
  /** `list` is called at each scrape and returns each autoscaler once. */
  listWith(list: () => readonly DesiredReplicas[]): void;
}
