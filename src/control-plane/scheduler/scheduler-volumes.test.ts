import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PersistentVolumeClaim } from '../../api/core/persistent-volume-claim.ts';
import type { PersistentVolume } from '../../api/core/persistent-volume.ts';
import type { StorageClass } from '../../api/storage/storage-class.ts';
import {
  csiDrivers,
  csiStorageCapacities,
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
} from '../../api/client/resource-types.ts';
import { readSchedulerConfig } from './config/scheduler-config.ts';
import { buildPod } from './testing/builders.ts';
import { started } from './testing/scheduler-world.ts';

const key = (name: string): { namespace: string; name: string } => ({ namespace: 'default', name });
const unfit = (message: string): string => `False Unschedulable: ${message}`;

describe('volumes with WaitForFirstConsumer', () => {
  const storageClass: StorageClass = {
    metadata: { name: 'local', namespace: '', uid: 'sc' },
    provisioner: 'kubernetes.io/no-provisioner',
    volumeBindingMode: 'WaitForFirstConsumer',
  };
  const claim: PersistentVolumeClaim = {
    metadata: { name: 'data', namespace: 'default', uid: 'claim-1' },
    spec: { storageClassName: 'local', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  };
  const volume = (name: string, node: string): PersistentVolume => ({
    metadata: { name, namespace: '', uid: `uid-${name}` },
    spec: {
      storageClassName: 'local',
      capacity: { storage: '2Gi' },
      accessModes: ['ReadWriteOnce'],
      local: { path: '/mnt' },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [node] }] },
          ],
        },
      },
    },
    status: { phase: 'Available' },
  });
  const spec = { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] };

  it('are assigned to the pod’s claim first, and the pod is bound after the claim', async () => {
    const world = await started({}, 'node-1', 'node-2');
    world.api.seed(storageClasses, storageClass);
    world.api.seed(persistentVolumes, volume('pv-2', 'node-2'));
    world.api.seed(persistentVolumeClaims, claim);
    await world.run(10);
    world.addPod(buildPod('x', { spec }));
    await world.run(5000);
    const reserved = world.api.peek(persistentVolumes, { namespace: '', name: 'pv-2' });
    assert.deepEqual(
      [reserved?.spec.claimRef?.name, reserved?.spec.claimRef?.uid, reserved?.metadata.annotations],
      ['data', 'claim-1', { 'pv.kubernetes.io/bound-by-controller': 'yes' }],
    );
    assert.deepEqual([world.nodeOf('x'), world.pod('x')?.status?.nominatedNodeName], [undefined, 'node-2']);
    // This does what the PersistentVolume controller does.
    world.api.change(persistentVolumeClaims, key('data'), (one) => ({
      ...one,
      metadata: { ...one.metadata, annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
      spec: { ...one.spec, volumeName: 'pv-2' },
    }));
    await world.run(100);
    assert.equal(world.nodeOf('x'), 'node-2');
    await world.stop();
  });

  it('do not delay the stop of the scheduler, and its successor continues with them', async () => {
    const world = await started({}, 'node-1', 'node-2');
    world.api.seed(storageClasses, storageClass);
    world.api.seed(persistentVolumes, volume('pv-2', 'node-2'));
    world.api.seed(persistentVolumeClaims, claim);
    await world.run(10);
    world.addPod(buildPod('x', { spec }));
    await world.run(1000);
    const { length } = world.events;
    await world.stop();
    assert.deepEqual([world.clock.armedTimers, world.events.length], [0, length]);
    await world.start();
    world.api.change(persistentVolumeClaims, key('data'), (one) => ({
      ...one,
      metadata: { ...one.metadata, annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
      spec: { ...one.spec, volumeName: 'pv-2' },
    }));
    await world.run(100);
    assert.equal(world.nodeOf('x'), 'node-2');
    await world.stop();
  });

  it('a pod gets another node if its provisioner cannot create the volume on the selected one', async () => {
    const world = await started({}, 'node-1', 'node-2');
    const provisioner = 'disk.example.com';
    world.api.seed(storageClasses, { ...storageClass, provisioner });
    world.api.seed(persistentVolumeClaims, claim);
    world.api.seed(csiDrivers, {
      metadata: { name: provisioner, namespace: '', uid: 'd' },
      spec: { storageCapacity: true },
    });
    const tell = (node: string, capacity: string) =>
      world.api.seed(csiStorageCapacities, {
        metadata: { name: node, namespace: 'kube-system', uid: node },
        nodeTopology: { matchLabels: { 'kubernetes.io/hostname': node } },
        storageClassName: 'local',
        capacity,
      });
    tell('node-1', '2Gi');
    await world.run(10);
    world.addPod(buildPod('x', { spec }));
    await world.run(1000);
    const selected = (): string | undefined =>
      world.api.peek(persistentVolumeClaims, key('data'))?.metadata.annotations?.['volume.kubernetes.io/selected-node'];
    assert.equal(selected(), 'node-1');
    // This does what a provisioner without free space does.
    world.api.change(csiStorageCapacities, { namespace: 'kube-system', name: 'node-1' }, (one) => ({
      ...one,
      capacity: '1Mi',
    }));
    world.api.change(persistentVolumeClaims, key('data'), (one) => ({
      ...one,
      metadata: { ...one.metadata, annotations: {} },
    }));
    await world.run(1000);
    assert.equal(selected(), undefined);
    tell('node-2', '2Gi');
    await world.run(20_000);
    assert.equal(selected(), 'node-2');
    assert.ok(
      world.events.some((event) => event.includes('provisioning failed for PVC "data"')),
      world.events.join(),
    );
    await world.stop();
  });

  it('binding volumes times out as configured, and is retried', async () => {
    const read = readSchedulerConfig({
      apiVersion: 'kubescheduler.config.k8s.io/v1',
      kind: 'KubeSchedulerConfiguration',
      profiles: [{ pluginConfig: [{ name: 'VolumeBinding', args: { bindTimeoutSeconds: 30 } }] }],
    });
    assert.ok('config' in read);
    const world = await started({ config: read.config }, 'node-2');
    world.api.seed(storageClasses, storageClass);
    world.api.seed(persistentVolumes, volume('pv-2', 'node-2'));
    world.api.seed(persistentVolumeClaims, claim);
    await world.run(10);
    world.addPod(buildPod('x', { spec }));
    await world.run(31_000);
    assert.equal(
      world.condition('x'),
      'False SchedulerError: running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded',
    );
    assert.equal(world.nodeOf('x'), undefined);
    world.api.change(persistentVolumeClaims, key('data'), (one) => ({
      ...one,
      metadata: { ...one.metadata, annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
      spec: { ...one.spec, volumeName: 'pv-2' },
    }));
    await world.run(60_000);
    assert.equal(world.nodeOf('x'), 'node-2');
    await world.stop();
  });

  it('without a suitable volume the pod stays pending with upstream’s message, until a volume is added', async () => {
    const world = await started({}, 'node-1');
    world.addPod(buildPod('x', { spec }));
    await world.run(100);
    assert.equal(
      world.condition('x'),
      unfit('0/1 nodes are available: persistentvolumeclaim "data" not found. not found'),
    );
    world.api.seed(storageClasses, { ...storageClass, volumeBindingMode: 'Immediate' });
    world.api.seed(persistentVolumeClaims, claim);
    await world.run(5000);
    assert.equal(
      world.condition('x'),
      unfit('0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found'),
    );
    world.api.seed(persistentVolumes, volume('pv-1', 'node-1'));
    world.api.change(persistentVolumeClaims, key('data'), (one) => ({
      ...one,
      metadata: { ...one.metadata, annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
      spec: { ...one.spec, volumeName: 'pv-1' },
    }));
    await world.run(5000);
    assert.equal(world.nodeOf('x'), 'node-1');
    await world.stop();
  });
});
