import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orderPodIps, podAddresses } from './pod-ips.ts';
import { buildPod } from './testing/pod-builder.ts';

test('the family of the node comes first, one address of each', () => {
  const ips = ['fd00::1', '10.0.0.1', '10.0.0.2'];
  assert.deepEqual(orderPodIps(ips, ['192.168.0.1']), ['10.0.0.1', 'fd00::1']);
  assert.deepEqual(orderPodIps(ips, ['fd01::1', '192.168.0.1']), ['fd00::1', '10.0.0.1']);
  assert.deepEqual([orderPodIps([], ['192.168.0.1']), orderPodIps(['fd00::1'], ['192.168.0.1'])], [[], ['fd00::1']]);
});

test('on the network of the host a pod has the addresses of the host', () => {
  assert.deepEqual(podAddresses(buildPod({ 'spec.hostNetwork': true }), [], ['192.168.0.1', 'fd01::1']), [
    '192.168.0.1',
    'fd01::1',
  ]);
  assert.deepEqual(podAddresses(buildPod({}), ['10.0.0.1'], ['192.168.0.1']), ['10.0.0.1']);
});
