import type { AgentMetrics } from './agent-metrics.ts';

/** A request with the labels that the servers give it. */
export interface LabelledRequest {
  readonly method: string;
  readonly path: string;
  readonly serverType: string;
  readonly longRunning: boolean;
}

/** Counts requests in upstream's families. `nowMs` is monotonic. */
export function observeRequests(
  { main }: Pick<AgentMetrics, 'main'>,
  nowMs: () => number,
): {
  /** Returns the function to call when the answer is complete. */
  begin(request: LabelledRequest): () => void;
  webSocketStream(subresource: string): void;
} {
  const inflight = new Map<string, number>();
  const move = (labels: Record<string, string>, by: 1 | -1): void => {
    const key = Object.values(labels).join(' ');
    const count = (inflight.get(key) ?? 0) + by;
    inflight.set(key, count);
    main.set('kubelet_http_inflight_requests', labels, count);
  };
  return {
    begin: ({ method, path, serverType, longRunning }) => {
      const labels = { method, path, server_type: serverType, long_running: String(longRunning) };
      const startedMs = nowMs();
      main.count('kubelet_http_requests_total', labels);
      move(labels, 1);
      return () => {
        move(labels, -1);
        main.observe('kubelet_http_requests_duration_seconds', labels, (nowMs() - startedMs) / 1000);
      };
    },
    webSocketStream: (subresource) => main.count('kubelet_websocket_streaming_requests_total', { subresource }),
  };
}
