import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyDefaults } from './config/defaults.ts';
import { computeFeatureGates } from './config/feature-gates.ts';
import { toKubeletConfig } from './config/kubelet-config.ts';
import { memoryQosOf } from './memory-qos.ts';

test('memory is protected and throttled as configured, on cgroup v2 with the feature gate only', () => {
  const of = (fields: object, isOn: boolean, version: 1 | 2) => {
    const { gates } = computeFeatureGates({ MemoryQoS: isOn });
    return memoryQosOf(toKubeletConfig(applyDefaults(fields, gates.enabled), gates), version);
  };
  const tiered = { memoryThrottlingFactor: 0.5, memoryReservationPolicy: 'TieredReservation' };
  assert.deepEqual(of({}, true, 2), { throttlingFactor: 0.9, reservesRequests: false });
  assert.deepEqual(of(tiered, true, 2), { throttlingFactor: 0.5, reservesRequests: true });
  assert.deepEqual([of(tiered, false, 2), of(tiered, true, 1)], [undefined, undefined]);
});

test('the share of requests that qosReserved keeps is a whole percentage', () => {
  const { gates } = computeFeatureGates({});
  const percent = (fields: object) =>
    toKubeletConfig(applyDefaults(fields, gates.enabled), gates).cgroups.qosReservedMemoryPercent;
  assert.deepEqual([percent({}), percent({ qosReserved: { memory: '50%' } })], [undefined, 50]);
});
