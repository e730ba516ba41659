import type { AgentMetrics } from './agent-metrics.ts';

export interface MetricsRequest {
  readonly acceptEncoding: string;
}

export interface MetricsAnswer {
  readonly status: 200;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer>;
}

export interface MetricsEndpointParts {
  readonly metrics: AgentMetrics;
  /** Returns the answer in the text format, compressed for clients that accept it. */
  readonly answer: (request: MetricsRequest, text: string) => Promise<MetricsAnswer>;
}

const reset: MetricsAnswer = {
  status: 200,
  headers: { 'Content-Type': 'text/plain; charset=utf-8' },
  body: 'metrics reset\n',
};

/** Creates the endpoints /metrics, /metrics/probes and /metrics/slis. As upstream, only the last one can be reset. */
export function metricsEndpoints({
  metrics,
  answer,
}: MetricsEndpointParts): Map<string, (request: MetricsRequest) => Promise<MetricsAnswer>> {
  const text = (set: AgentMetrics[keyof AgentMetrics]) => async (request: MetricsRequest) =>
    answer(request, await set.text());
  return new Map([
    ['GET /metrics', text(metrics.main)],
    ['GET /metrics/probes', text(metrics.probes)],
    ['GET /metrics/slis', text(metrics.slis)],
    [
      'DELETE /metrics/slis',
      () => {
        metrics.slis.reset();
        return Promise.resolve(reset);
      },
    ],
  ]);
}
