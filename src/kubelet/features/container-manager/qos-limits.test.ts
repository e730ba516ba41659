import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../api/core/pod.ts';
import type { QosMemoryRules } from './qos-limits.ts';
import { computeQosLimits } from './qos-limits.ts';

const GIB = 2 ** 30;
const pod = (name: string, resources: Record<string, unknown>): Pod => ({
  metadata: { name, namespace: 'n', uid: name },
  spec: { containers: [{ name: 'c', image: 'x', resources }] },
});
const guaranteed = pod('g', { requests: { cpu: '1', memory: '2Gi' }, limits: { cpu: '1', memory: '2Gi' } });
const burstable = pod('b', { requests: { cpu: '500m', memory: '1Gi' } });
const bestEffort = pod('e', {});
const pods = [guaranteed, burstable, bestEffort];
const rules = (more: Partial<QosMemoryRules>): QosMemoryRules => ({
  reservedPercent: undefined,
  memoryForPodsBytes: 10 * GIB,
  memoryQos: undefined,
  ...more,
});

describe('the limits of the QoS classes', () => {
  it('are CPU shares alone, unless more is configured', () => {
    assert.deepEqual(computeQosLimits(pods, rules({})), {
      guaranteed: {},
      burstable: { cpuShares: 512 },
      bestEffort: { cpuShares: 2 },
      protectedBytes: undefined,
    });
  });

  it('leave lower classes what qosReserved keeps of the requests of higher ones', () => {
    const memory = (reservedPercent: number, memoryForPodsBytes = 10 * GIB) => {
      const limits = computeQosLimits(pods, rules({ reservedPercent, memoryForPodsBytes }));
      return [limits.guaranteed.memoryBytes, limits.burstable.memoryBytes, limits.bestEffort.memoryBytes];
    };
    assert.deepEqual(memory(100), [undefined, 8 * GIB, 7 * GIB]);
    assert.deepEqual(memory(50), [undefined, 9 * GIB, 8.5 * GIB]);
    assert.deepEqual(memory(0), [undefined, 10 * GIB, 10 * GIB]);
    assert.deepEqual(memory(100, 3 * GIB), [undefined, GIB, 4096]);
    assert.deepEqual(memory(100, 0), [undefined, undefined, undefined]);
  });

  it('protect requests with TieredReservation, and the group of all pods what its classes protect', () => {
    const limits = computeQosLimits(pods, rules({ memoryQos: { throttlingFactor: 0.9, reservesRequests: true } }));
    assert.deepEqual(
      [limits.guaranteed.unified, limits.burstable.unified, limits.bestEffort.unified, limits.protectedBytes],
      [{ 'memory.min': String(3 * GIB) }, { 'memory.low': String(GIB) }, undefined, { min: 2 * GIB, low: GIB }],
    );
  });

  it('undo an earlier protection where MemoryQoS reserves nothing', () => {
    const limits = computeQosLimits(pods, rules({ memoryQos: { throttlingFactor: 0.9, reservesRequests: false } }));
    assert.deepEqual(
      [limits.guaranteed.unified, limits.burstable.unified, limits.protectedBytes],
      [{ 'memory.min': '0' }, { 'memory.low': '0' }, { min: 0, low: 0 }],
    );
  });
});
