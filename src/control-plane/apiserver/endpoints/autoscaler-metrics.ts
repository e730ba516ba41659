import { Counter, Gauge, Histogram } from 'prom-client';
import type { Registry as MetricRegistry } from 'prom-client';

const PREFIX = 'horizontal_pod_autoscaler_controller';
/** The exponential buckets from 1 ms, as in upstream. */
const buckets = Array.from({ length: 15 }, (_, index) => 0.001 * 2 ** index);

interface Pass {
  readonly action: string;
  readonly error: string;
  readonly durationMs: number;
}

/** Metrics of the autoscaler controller in this process, under upstream's names. */
export class HorizontalPodAutoscalerMetrics {
  readonly #passes: Counter;
  readonly #passSeconds: Histogram;
  readonly #computations: Counter;
  readonly #computationSeconds: Histogram;
  #list: (() => readonly { namespace: string; name: string; replicas: number }[]) | undefined;

  constructor(registry: MetricRegistry) {
    const registers = [registry];
    const labelNames = ['action', 'error'];
    this.#passes = new Counter({
      name: `${PREFIX}_reconciliations_total`,
      help: 'Reconciliations of HorizontalPodAutoscalers.',
      labelNames,
      registers,
    });
    this.#passSeconds = new Histogram({
      name: `${PREFIX}_reconciliation_duration_seconds`,
      help: 'Duration of one reconciliation of a HorizontalPodAutoscaler, in seconds.',
      labelNames,
      buckets,
      registers,
    });
    this.#computations = new Counter({
      name: `${PREFIX}_metric_computation_total`,
      help: 'Computations of one metric of a HorizontalPodAutoscaler.',
      labelNames: [...labelNames, 'metric_type'],
      registers,
    });
    this.#computationSeconds = new Histogram({
      name: `${PREFIX}_metric_computation_duration_seconds`,
      help: 'Duration of the computation of one metric, in seconds.',
      labelNames: [...labelNames, 'metric_type'],
      buckets,
      registers,
    });
    const count = new Gauge({
      name: `${PREFIX}_num_horizontal_pod_autoscalers`,
      help: 'Number of HorizontalPodAutoscalers.',
      registers,
      collect: () => {
        count.set(this.#list?.().length ?? 0);
      },
    });
    const desired = new Gauge({
      name: `${PREFIX}_desired_replicas`,
      help: 'Desired replicas of each HorizontalPodAutoscaler.',
      labelNames: ['namespace', 'hpa_name'],
      registers,
      collect: () => {
        desired.reset();
        for (const { namespace, name, replicas } of this.#list?.() ?? [])
          desired.set({ namespace, hpa_name: name }, replicas);
      },
    });
  }

  reconciled({ action, error, durationMs }: Pass): void {
    this.#passes.inc({ action, error });
    this.#passSeconds.observe({ action, error }, durationMs / 1000);
  }

  computed({ action, error, durationMs, metricType }: Pass & { readonly metricType: string }): void {
    const labels = { action, error, metric_type: metricType };
    this.#computations.inc(labels);
    this.#computationSeconds.observe(labels, durationMs / 1000);
  }

  listWith(list: () => readonly { namespace: string; name: string; replicas: number }[]): void {
    this.#list = list;
  }
}
