import type { ClientObservation } from '../../../api/client/client-observations.ts';
import type { AgentMetrics } from './agent-metrics.ts';

/**
 * Counts requests of the API client as upstream does (client-go tools/metrics). Latencies and sizes exclude watches.
 */
export function noteClientRequest({ main }: Pick<AgentMetrics, 'main'>, seen: ClientObservation): void {
  const { method: verb, host } = seen;
  if (seen.kind === 'admitted')
    return main.observe('rest_client_rate_limiter_duration_seconds', { verb, host }, seen.waitedMs / 1000);
  const { code } = seen;
  main.count('rest_client_requests_total', { code, method: verb, host });
  if (seen.isRetry) main.count('rest_client_request_retries_total', { code, verb, host });
  if (seen.isWatch) return;
  main.observe('rest_client_request_duration_seconds', { verb, host }, seen.durationMs / 1000);
  main.observe('rest_client_request_size_bytes', { verb, host }, seen.requestBytes);
  if (code !== '<error>') main.observe('rest_client_response_size_bytes', { verb, host }, seen.responseBytes);
}
