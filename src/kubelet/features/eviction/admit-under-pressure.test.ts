import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { rejectionUnderPressure } from './admit-under-pressure.ts';

const fromApi = { 'metadata.annotations': { 'kubernetes.io/config.source': 'api' } };
const bestEffort = buildPod(fromApi);
const burstable = buildPod({
  ...fromApi,
  'spec.containers': [{ name: 'c', image: 'i:1', resources: { requests: { cpu: '1m' } } }],
});
const critical = buildPod({ ...fromApi, 'spec.priority': 2_000_000_000 });
const tolerant = buildPod({
  ...fromApi,
  'spec.tolerations': [{ key: 'node.kubernetes.io/memory-pressure', operator: 'Exists', effect: 'NoSchedule' }],
});

test('under memory pressure only BestEffort pods without a toleration are rejected', () => {
  const refused = [bestEffort, burstable, critical, tolerant].map(
    (pod) => rejectionUnderPressure(pod, ['MemoryPressure'], false)?.message,
  );
  assert.deepEqual(refused, ['The node had condition: [MemoryPressure]. ', undefined, undefined, undefined]);
});

test('under any other pressure all pods except critical ones are rejected', () => {
  const refused = [bestEffort, burstable, critical, tolerant].map((pod) =>
    rejectionUnderPressure(pod, ['DiskPressure', 'MemoryPressure'], false),
  );
  const rejection = { reason: 'Evicted', message: 'The node had condition: [DiskPressure MemoryPressure]. ' };
  assert.deepEqual(refused, [rejection, rejection, undefined, rejection]);
});

test('without pressure every pod is admitted', () => {
  assert.equal(rejectionUnderPressure(bestEffort, [], false), undefined);
});
