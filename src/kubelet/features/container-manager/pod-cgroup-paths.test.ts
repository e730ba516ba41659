import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { podCgroupPaths } from './pod-cgroup-paths.ts';

const burstable = buildPod({
  'metadata.uid': 'u1',
  'spec.containers[0].resources': { requests: { cpu: '100m' } },
});

test('a pod lies in the group of its QoS class, by the name that the kernel knows', () => {
  const paths = podCgroupPaths({ perQos: true, root: '/agent' }, (name) => `kernel:${name}`);
  assert.equal(paths?.of(burstable), 'kernel:/agent/kubepods/burstable/podu1');
  assert.deepEqual(paths.top, [
    'kernel:/agent/kubepods',
    'kernel:/agent/kubepods/besteffort',
    'kernel:/agent/kubepods/burstable',
  ]);
});

test('pods have no groups where cgroupsPerQOS is off', () => {
  assert.equal(
    podCgroupPaths({ perQos: false, root: '/' }, (name) => name),
    undefined,
  );
});
