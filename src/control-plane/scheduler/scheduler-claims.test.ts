import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  deviceClasses,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  resourceClaims,
  resourceSlices,
  storageClasses,
} from '../../api/client/resource-types.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { ResourceClaim } from '../../api/resource/resource-claim.ts';
import type { ResourceSlice } from '../../api/resource/resource-slice.ts';
import { ApiStatusError } from '../../api/status/api-status-error.ts';
import { readSchedulerConfig } from './config/scheduler-config.ts';
import { buildPod } from './testing/builders.ts';
import type { SchedulerWorld } from './testing/scheduler-world.ts';
import { started } from './testing/scheduler-world.ts';

const key = (name: string): { namespace: string; name: string } => ({ namespace: 'default', name });

const claimNamed = (name: string): ResourceClaim => ({
  metadata: { name, namespace: 'default', uid: `uid-${name}` },
  spec: {
    devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'gpu', allocationMode: 'ExactCount', count: 1 } }] },
  },
});

/** Returns a slice with one device that all nodes can use. */
function slice(device: object = {}): ResourceSlice {
  return {
    metadata: { name: 's', namespace: '', uid: 's' },
    spec: {
      driver: 'd',
      pool: { name: 'p', generation: 1, resourceSliceCount: 1 },
      allNodes: true,
      devices: [{ name: 'g0', ...device }],
    },
  };
}

const podWith = (name: string, spec: object = {}): Pod =>
  buildPod(name, { spec: { resourceClaims: [{ name: 'dev', resourceClaimName: name }], ...spec } });

function configured(plugin: string, args: object) {
  const read = readSchedulerConfig({
    apiVersion: 'kubescheduler.config.k8s.io/v1',
    kind: 'KubeSchedulerConfiguration',
    profiles: [{ pluginConfig: [{ name: plugin, args }] }],
  });
  assert.ok('config' in read, JSON.stringify(read));
  return { config: read.config };
}

async function withDevice(options: Parameters<typeof started>[0] = {}, device: object = {}): Promise<SchedulerWorld> {
  const world = await started(options, 'node-1');
  world.api.seed(deviceClasses, { metadata: { name: 'gpu', namespace: '', uid: 'gpu' }, spec: {} });
  world.api.seed(resourceSlices, slice(device));
  for (const name of ['x', 'y']) world.api.seed(resourceClaims, claimNamed(name));
  await world.run(10);
  return world;
}

describe('the reservation of a claim', () => {
  it('is removed if its pod cannot be bound, and added again in the next attempt', async () => {
    const world = await withDevice();
    world.api.fail('post', 'pods', new ApiStatusError('Forbidden', 'no'), 1);
    world.addPod(podWith('x'));
    await world.run(500);
    const claim = world.api.peek(resourceClaims, key('x'));
    assert.deepEqual([world.nodeOf('x'), claim?.status?.reservedFor], [undefined, []]);
    assert.equal(claim?.status?.allocation?.devices.results?.[0]?.device, 'g0');
    await world.run(60_000);
    assert.equal(world.nodeOf('x'), 'node-1');
    assert.equal(world.api.peek(resourceClaims, key('x'))?.status?.reservedFor?.[0]?.name, 'x');
    await world.stop();
  });

  it('an assumed reservation is dropped if the pod’s volumes cannot be bound', async () => {
    const world = await withDevice(configured('VolumeBinding', { bindTimeoutSeconds: 30 }));
    world.api.seed(storageClasses, {
      metadata: { name: 'local', namespace: '', uid: 'sc' },
      provisioner: 'kubernetes.io/no-provisioner',
      volumeBindingMode: 'WaitForFirstConsumer',
    });
    world.api.seed(persistentVolumes, {
      metadata: { name: 'pv', namespace: '', uid: 'pv' },
      spec: {
        storageClassName: 'local',
        capacity: { storage: '2Gi' },
        accessModes: ['ReadWriteOnce'],
        local: { path: '/mnt' },
      },
      status: { phase: 'Available' },
    });
    world.api.seed(persistentVolumeClaims, {
      metadata: { name: 'data', namespace: 'default', uid: 'data' },
      spec: { storageClassName: 'local', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    });
    await world.run(10);
    world.addPod(podWith('x', { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] }));
    await world.run(31_000);
    assert.match(world.condition('x') ?? '', /PreBind plugin "VolumeBinding"/);
    world.api.remove(pods, key('x'));
    world.addPod(podWith('y'));
    await world.run(60_000);
    assert.equal(world.nodeOf('y'), 'node-1', 'the device is free');
    await world.stop();
  });
});

describe('devices with binding conditions', () => {
  it('may take as long as bindingTimeout allows', async () => {
    const conditions = { bindsToNode: true, bindingConditions: ['ready'], bindingFailureConditions: ['failed'] };
    const world = await withDevice(configured('DynamicResources', { bindingTimeout: '30s' }), conditions);
    world.addPod(podWith('x'));
    await world.run(29_000);
    assert.equal(world.condition('x'), undefined);
    await world.run(2_000);
    assert.equal(
      world.condition('x'),
      'False SchedulerError: running PreBind plugin "DynamicResources": device binding timeout: claim=x',
    );
    await world.stop();
  });

  for (const [field, value, message] of [
    ['bindingTimeout', '500ms', 'must be at least 1 second'],
    ['filterTimeout', '-1s', 'must be zero or positive'],
  ] as const)
    it(`the configuration rejects a ${field} of ${value}`, () => {
      const read = readSchedulerConfig({
        apiVersion: 'kubescheduler.config.k8s.io/v1',
        kind: 'KubeSchedulerConfiguration',
        profiles: [{ pluginConfig: [{ name: 'DynamicResources', args: { [field]: value } }] }],
      });
      assert.match(JSON.stringify(read), new RegExp(`pluginConfig\\[0\\]\\.args\\.${field}.*${message}`));
    });
});
