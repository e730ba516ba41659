import assert from 'node:assert/strict';
import { test } from 'node:test';
import { traceTarget } from './trace-endpoint.ts';

test('an endpoint is host and port, or an address in gRPC notation', () => {
  const targets = Object.fromEntries(
    [
      'localhost:4317',
      '[::1]:4317',
      'dns:///collector.monitoring:4317',
      'dns://10.0.0.10/collector:4317',
      'dns://collector:4317',
      'unix:///run/otel.sock',
      '',
      'unix-abstract://otel',
      'no host here:1',
    ].map((endpoint) => [endpoint, traceTarget(endpoint)]),
  );
  assert.deepEqual(targets, {
    'localhost:4317': { address: 'localhost:4317' },
    '[::1]:4317': { address: '[::1]:4317' },
    'dns:///collector.monitoring:4317': { address: 'collector.monitoring:4317' },
    'dns://10.0.0.10/collector:4317': { address: 'collector:4317' },
    'dns://collector:4317': { address: 'collector:4317' },
    'unix:///run/otel.sock': { socketPath: '/run/otel.sock' },
    '': { address: 'localhost:4317' },
    'unix-abstract://otel': undefined,
    'no host here:1': undefined,
  });
});
