import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClientObservation } from '../../../api/client/client-observations.ts';
import { createAgentMetrics } from './agent-metrics.ts';
import { noteClientRequest } from './client-requests.ts';

test('requests of the API client are counted under the names of client-go; for watches only their start', async () => {
  const metrics = createAgentMetrics();
  const attempt = {
    kind: 'attempt',
    method: 'GET',
    host: 'a:6443',
    code: '200',
    durationMs: 40,
    requestBytes: 0,
    responseBytes: 300,
    isRetry: false,
    isWatch: false,
  } as const;
  const seen: readonly ClientObservation[] = [
    { kind: 'admitted', method: 'GET', host: 'a:6443', waitedMs: 10 },
    attempt,
    { ...attempt, code: '<error>', isRetry: true },
    { ...attempt, isWatch: true },
  ];
  for (const each of seen) noteClientRequest(metrics, each);
  const lines = (await metrics.main.text())
    .split('\n')
    .filter((line) => /^rest_client_\w+(_total|_count|_sum)\{/.test(line));
  assert.deepEqual(lines.toSorted(), [
    'rest_client_rate_limiter_duration_seconds_count{verb="GET",host="a:6443"} 1',
    'rest_client_rate_limiter_duration_seconds_sum{verb="GET",host="a:6443"} 0.01',
    'rest_client_request_duration_seconds_count{verb="GET",host="a:6443"} 2',
    'rest_client_request_duration_seconds_sum{verb="GET",host="a:6443"} 0.08',
    'rest_client_request_retries_total{code="<error>",verb="GET",host="a:6443"} 1',
    'rest_client_request_size_bytes_count{verb="GET",host="a:6443"} 2',
    'rest_client_request_size_bytes_sum{verb="GET",host="a:6443"} 0',
    'rest_client_requests_total{code="200",method="GET",host="a:6443"} 2',
    'rest_client_requests_total{code="<error>",method="GET",host="a:6443"} 1',
    'rest_client_response_size_bytes_count{verb="GET",host="a:6443"} 1',
    'rest_client_response_size_bytes_sum{verb="GET",host="a:6443"} 300',
  ]);
});
