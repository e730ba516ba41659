import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAgentMetrics } from './agent-metrics.ts';
import { observeRequests } from './http-requests.ts';

async function lines(metrics: ReturnType<typeof createAgentMetrics>, family: RegExp): Promise<string[]> {
  return (await metrics.main.text()).split('\n').filter((line) => !line.startsWith('#') && family.test(line));
}

const request = { method: 'GET', path: 'pods', serverType: 'readwrite', longRunning: false };
const labels = '{method="GET",path="pods",server_type="readwrite",long_running="false"}';

test('requests are counted when they come, those under way by their labels, and timed at their end', async () => {
  const metrics = createAgentMetrics();
  let nowMs = 0;
  const observer = observeRequests(metrics, () => nowMs);
  const [first, second] = [observer.begin(request), observer.begin(request)];
  observer.begin({ ...request, path: 'exec', longRunning: true });
  assert.deepEqual(await lines(metrics, /path="pods"/), [
    `kubelet_http_inflight_requests${labels} 2`,
    `kubelet_http_requests_total${labels} 2`,
  ]);
  nowMs = 1500;
  first();
  second();
  assert.deepEqual(await lines(metrics, /(inflight|_sum|requests_total).*path="pods"/), [
    `kubelet_http_inflight_requests${labels} 0`,
    `kubelet_http_requests_duration_seconds_sum${labels} 3`,
    `kubelet_http_requests_total${labels} 2`,
  ]);
});

test('streams over WebSocket are counted by what they are', async () => {
  const metrics = createAgentMetrics();
  const observer = observeRequests(metrics, () => 0);
  observer.webSocketStream('exec');
  observer.webSocketStream('exec');
  assert.deepEqual(await lines(metrics, /websocket/), [
    'kubelet_websocket_streaming_requests_total{subresource="exec"} 2',
  ]);
});
