import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTracingConfig } from './read-tracing-config.ts';

const head = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'TracingConfiguration' };

test('a TracingConfiguration says where traces go, and how many', () => {
  assert.deepEqual(parseTracingConfig({ ...head, endpoint: 'otel:4317', samplingRatePerMillion: 100 }), {
    endpoint: 'otel:4317',
    samplingRatePerMillion: 100,
  });
  const beta = { ...head, apiVersion: 'apiserver.config.k8s.io/v1beta1' };
  assert.deepEqual(parseTracingConfig(beta), { endpoint: undefined, samplingRatePerMillion: 0 });
});

for (const [value, error] of [
  [[], /not an object/],
  [{ ...head, kind: 'Other' }, /not a TracingConfiguration/],
  [{ ...head, apiVersion: 'v1' }, /not a TracingConfiguration/],
  [{ ...head, endpoints: 'x' }, /unknown field "endpoints"/],
  [{ ...head, samplingRatePerMillion: -1 }, /sampling rate must be positive/],
  [{ ...head, samplingRatePerMillion: 1_000_001 }, /less than or equal to one million/],
  [{ ...head, samplingRatePerMillion: '5' }, /expected a whole number/],
  [{ ...head, endpoint: 5 }, /expected a string/],
  [{ ...head, endpoint: 'http://otel' }, /unsupported scheme: http\./],
] as const)
  test(`${JSON.stringify(value)} is refused`, () => {
    assert.match(String(parseTracingConfig(value)), error);
  });
