import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Container } from '../../../../api/core/container.ts';
import { aContainer, aPod } from '../testing/builders.ts';
import { memoryQosConfig } from './memory-qos-config.ts';

const MIB = 2 ** 20;
const tiered = { throttlingFactor: 0.9, reservesRequests: true };

function of(resources: Container['resources'], memoryQos = tiered, memoryForPodsBytes = 1000 * MIB) {
  const container = aContainer('app', resources === undefined ? {} : { resources });
  return memoryQosConfig(aPod({ containers: [container] }), container, { memoryQos, memoryForPodsBytes });
}

describe('the memory of a container with MemoryQoS', () => {
  it('MemoryQoS protects memory by QoS class: never reclaimed in a Guaranteed pod, reclaimed last in a Burstable one', () => {
    const all = { cpu: '1', memory: '64Mi' };
    assert.deepEqual(of({ requests: all, limits: all }), { 'memory.min': String(64 * MIB) });
    assert.equal(of({ requests: { memory: '64Mi' }, limits: { memory: '128Mi' } })['memory.low'], String(64 * MIB));
  });

  it('MemoryQoS without the policy or a request resets an earlier protection', () => {
    const all = { cpu: '1', memory: '64Mi' };
    const none = { 'memory.min': '0', 'memory.low': '0' };
    assert.deepEqual(of({ requests: all, limits: all }, { ...tiered, reservesRequests: false }), none);
    assert.deepEqual(of({ limits: { cpu: '1' } }, tiered, 0), none);
  });

  it('MemoryQoS throttles between request and limit (or the memory available to pods), in whole pages', () => {
    const high = (resources: Container['resources'], factor = 0.9): string | undefined =>
      of(resources, { ...tiered, throttlingFactor: factor })['memory.high'];
    assert.equal(high({ requests: { memory: '50Mi' }, limits: { memory: '100Mi' } }), String(95 * MIB));
    assert.equal(high({ requests: { memory: '100Mi' } }), String(910 * MIB));
    assert.equal(high({ limits: { memory: '100Mi' } }), String(90 * MIB));
    assert.equal(high({ requests: { memory: '1' }, limits: { memory: '10001' } }, 0.5), String(4096));
  });

  it('MemoryQoS does not throttle at or below the request', () => {
    const limits = { memory: '64Mi' };
    assert.equal(of(undefined)['memory.high'], undefined);
    assert.equal(of({ requests: limits, limits })['memory.high'], undefined);
    assert.equal(
      of({ requests: limits, limits: { memory: '65Mi' } }, { ...tiered, throttlingFactor: 0 })['memory.high'],
      undefined,
    );
    assert.equal(of({ requests: { memory: '2Gi' } })['memory.high'], undefined);
    assert.equal(of({ requests: limits }, tiered, 0)['memory.high'], undefined);
  });
});
