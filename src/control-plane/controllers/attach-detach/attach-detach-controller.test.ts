import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { attachmentName } from '../../../api/attachable-volume.ts';
import {
  csiDrivers,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  volumeAttachments,
} from '../../../api/client/resource-types.ts';
import type { Node } from '../../../api/core/node.ts';
import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { VolumeAttachment } from '../../../api/storage/volume-attachment.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { createAttachDetachController } from './attach-detach-controller.ts';

const KEY = 'kubernetes.io/csi/d^h';
const claimed = { 'spec.volumes': [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }] };

interface Fixture {
  readonly accessModes?: string[];
  readonly source?: object;
  readonly seed?: number;
  readonly lagMs?: number;
}

function setUp({
  accessModes = ['ReadWriteOnce'],
  source = { csi: { driver: 'd', volumeHandle: 'h' } },
  ...options
}: Fixture = {}) {
  const world = new ControllerWorld({ make: (each) => [createAttachDetachController(each)], ...options });
  const { api } = world;
  for (const name of ['n1', 'n2'])
    api.seed(nodes, {
      metadata: { name, namespace: '', uid: name },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    } as unknown as Node);
  api.seed(persistentVolumeClaims, {
    metadata: { name: 'data', namespace: 'default', uid: 'c' },
    spec: { volumeName: 'pv' },
    status: { phase: 'Bound' },
  } as PersistentVolumeClaim);
  api.seed(persistentVolumes, {
    metadata: { name: 'pv', namespace: '', uid: '' },
    spec: { accessModes, claimRef: { namespace: 'default', name: 'data', uid: 'c' }, ...source },
  } as PersistentVolume);
  world.start();
  const attachmentOn = (node: string): VolumeAttachment | undefined =>
    api.peek(volumeAttachments, { namespace: '', name: attachmentName('h', 'd', node) });
  return {
    world,
    api,
    attachmentOn,
    run: (ms = 2_000) => world.clock.advance(ms),
    addPod: (name: string, node: string) =>
      api.seed(pods, buildPod({ ...claimed, 'metadata.name': name, 'metadata.uid': name, 'spec.nodeName': node })),
    /** Simulates the external attacher of the driver. */
    attach: (node: string) =>
      api.change(volumeAttachments, { namespace: '', name: attachmentName('h', 'd', node) }, (each) => ({
        ...each,
        metadata: { ...each.metadata, finalizers: ['external-attacher/d'] },
        status: { attached: true },
      })),
    detach: (node: string) =>
      api.change(volumeAttachments, { namespace: '', name: attachmentName('h', 'd', node) }, (each) => ({
        ...each,
        metadata: { ...each.metadata, finalizers: [] },
      })),
    setNode: (name: string, status: Partial<NonNullable<Node['status']>>) =>
      api.change(nodes, { namespace: '', name }, (node) => ({ ...node, status: { ...node.status, ...status } })),
    attachedTo: (name: string): string[] =>
      (api.peek(nodes, { namespace: '', name })?.status?.volumesAttached ?? []).map((each) => each.name),
  };
}

describe('CSI volumes', () => {
  it('are attached for the first pod of a node, listed in its status once attached, and detached when the node has released them', async () => {
    const { world, api, run, addPod, attach, detach, attachmentOn, attachedTo, setNode } = setUp();
    addPod('web', 'n1');
    await run();
    assert.deepEqual(
      [attachmentOn('n1')?.spec, attachedTo('n1')],
      [{ attacher: 'd', nodeName: 'n1', source: { persistentVolumeName: 'pv' } }, []],
    );
    attach('n1');
    await run();
    assert.deepEqual(attachedTo('n1'), [KEY]);
    assert.ok(world.events.some((event) => event.includes('AttachVolume.Attach succeeded for volume "pv" ')));
    setNode('n1', { volumesInUse: [KEY] });
    api.remove(pods, { namespace: 'default', name: 'web' });
    await run(600_000);
    assert.deepEqual(
      [attachedTo('n1'), attachmentOn('n1')?.metadata.deletionTimestamp],
      [[KEY], undefined],
      'a node that answers is waited for',
    );
    setNode('n1', { volumesInUse: [] });
    await run();
    assert.deepEqual([attachedTo('n1'), attachmentOn('n1')?.metadata.deletionTimestamp === undefined], [[], false]);
    detach('n1');
    await run();
    assert.equal(attachmentOn('n1'), undefined);
    await world.stop();
  });

  it('for a single node wait until the other node has released them', async () => {
    const one = setUp();
    one.addPod('a', 'n1');
    await one.run();
    one.attach('n1');
    one.addPod('b', 'n2');
    await one.run();
    assert.equal(one.attachmentOn('n2'), undefined);
    assert.ok(
      one.world.events.some((event) =>
        event.includes(
          'Multi-Attach error for volume "pv" Volume is already exclusively attached to one node and can\'t be attached to another',
        ),
      ),
    );
    one.api.remove(pods, { namespace: 'default', name: 'a' });
    await one.run();
    one.detach('n1');
    await one.run();
    assert.notEqual(one.attachmentOn('n2'), undefined);
    await one.world.stop();
    const many = setUp({ accessModes: ['ReadWriteMany'] });
    many.addPod('a', 'n1');
    many.addPod('b', 'n2');
    await many.run();
    assert.deepEqual([many.attachmentOn('n1') === undefined, many.attachmentOn('n2') === undefined], [false, false]);
    await many.world.stop();
  });

  it('that another program attached under its own name are not changed', async () => {
    const { api, world, run } = setUp();
    const theirs = { namespace: '', name: 'by-hand' };
    api.seed(volumeAttachments, {
      metadata: { ...theirs, uid: 'by-hand' },
      spec: { attacher: 'd', nodeName: 'n1', source: { persistentVolumeName: 'pv' } },
    });
    await run();
    const left = api.peek(volumeAttachments, theirs);
    assert.deepEqual([left !== undefined, left?.metadata.deletionTimestamp], [true, undefined]);
    await world.stop();
  });

  it('of a driver without attachment are not changed', async () => {
    const { world, api, run, addPod, attachmentOn } = setUp();
    api.seed(csiDrivers, { metadata: { name: 'd', namespace: '', uid: '' }, spec: { attachRequired: false } });
    await run();
    addPod('web', 'n1');
    await run();
    assert.equal(attachmentOn('n1'), undefined);
    await world.stop();
  });

  it('are detached from a deleted node, and from a node without heartbeats for six minutes', async () => {
    for (const gone of [false, true]) {
      const { world, api, run, addPod, attach, attachmentOn, setNode } = setUp();
      addPod('web', 'n1');
      await run();
      attach('n1');
      await run();
      if (gone) api.remove(nodes, { namespace: '', name: 'n1' });
      else setNode('n1', { volumesInUse: [KEY], conditions: [{ type: 'Ready', status: 'Unknown' }] });
      api.remove(pods, { namespace: 'default', name: 'web' });
      await run(5 * 60_000);
      assert.equal(attachmentOn('n1')?.metadata.deletionTimestamp, undefined);
      await run(2 * 60_000);
      assert.notEqual(attachmentOn('n1')?.metadata.deletionTimestamp, undefined);
      await world.stop();
    }
  });

  it('are detached at once from a node that is out of service', async () => {
    const { world, api, run, addPod, attach, attachmentOn, setNode } = setUp();
    addPod('web', 'n1');
    await run();
    attach('n1');
    await run();
    setNode('n1', { volumesInUse: [KEY], conditions: [{ type: 'Ready', status: 'Unknown' }] });
    api.remove(pods, { namespace: 'default', name: 'web' });
    await run();
    assert.equal(attachmentOn('n1')?.metadata.deletionTimestamp, undefined);
    api.change(nodes, { namespace: '', name: 'n1' }, (node) => ({
      ...node,
      spec: { ...node.spec, taints: [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' as const }] },
    }));
    await run();
    assert.notEqual(attachmentOn('n1')?.metadata.deletionTimestamp, undefined);
    await world.stop();
  });

  it('an attach failure is reported with the error of the driver', async () => {
    const { world, api, run, addPod } = setUp();
    addPod('web', 'n1');
    await run();
    api.change(volumeAttachments, { namespace: '', name: attachmentName('h', 'd', 'n1') }, (each) => ({
      ...each,
      status: { attached: false, attachError: { message: 'no room' } },
    }));
    await run();
    assert.ok(world.events.some((event) => event.includes('AttachVolume.Attach failed for volume "pv" : no room')));
    await world.stop();
  });

  it('reach the same final state despite crashes of the controller and late events', async () => {
    for (let seed = 1; seed <= 30; seed++) {
      const { world, api, run, addPod, attach, detach, attachmentOn, attachedTo } = setUp({ seed, lagMs: 300 });
      world.restartAtWrite(1 + (seed % 4));
      addPod('web', 'n1');
      await run(5_000);
      attach('n1');
      await run(5_000);
      assert.deepEqual(attachedTo('n1'), [KEY], `seed ${seed}`);
      world.restartAtWrite(1 + (seed % 3));
      api.remove(pods, { namespace: 'default', name: 'web' });
      await run(5_000);
      detach('n1');
      await run(5_000);
      assert.deepEqual([attachedTo('n1'), attachmentOn('n1')], [[], undefined], `seed ${seed}`);
      await world.stop();
    }
  });
});

it('an in-tree cloud volume is attached by its CSI driver, from a claim and from a pod', async () => {
  const { world, api, run, addPod } = setUp({ source: { cinder: { volumeID: 'c' } } });
  addPod('web', 'n1');
  const ebs = { name: 'v', awsElasticBlockStore: { volumeID: 'vol-1', readOnly: true } };
  const inline = buildPod({
    'spec.volumes': [ebs],
    'metadata.name': 'own',
    'metadata.uid': 'own',
    'spec.nodeName': 'n1',
  });
  api.seed(pods, inline);
  await run();
  const sourceOf = (handle: string, driver: string): unknown =>
    api.peek(volumeAttachments, { namespace: '', name: attachmentName(handle, driver, 'n1') })?.spec.source;
  assert.deepEqual(sourceOf('c', 'cinder.csi.openstack.org'), { persistentVolumeName: 'pv' });
  assert.deepEqual(sourceOf('vol-1', 'ebs.csi.aws.com'), {
    inlineVolumeSpec: {
      csi: {
        driver: 'ebs.csi.aws.com',
        volumeHandle: 'vol-1',
        readOnly: true,
        volumeAttributes: { partition: '0' },
      },
      accessModes: ['ReadWriteOnce'],
    },
  });
  await world.stop();
});

it('disks to which nodes log in are only listed in the status', async () => {
  const { world, api, run, addPod, attachedTo } = setUp({
    source: { iscsi: { targetPortal: '10.0.0.1', iqn: 'iqn.x', lun: 2 } },
  });
  addPod('web', 'n1');
  await run();
  assert.deepEqual(attachedTo('n1'), ['kubernetes.io/iscsi/10.0.0.1:3260:iqn.x:2']);
  api.remove(pods, { namespace: 'default', name: 'web' });
  await run();
  assert.deepEqual(attachedTo('n1'), []);
  await world.stop();
});
