import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolume, PersistentVolumeSpec } from '../../../api/core/persistent-volume.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { Volume } from '../../../api/core/volume.ts';
import { podUid } from '../../model/ids.ts';
import type { VolumeWorldOptions } from './testing/volume-world.ts';
import { testPod, volumeWorld } from './testing/volume-world.ts';

const claim = (name: string, more: Partial<PersistentVolumeClaim> = {}): PersistentVolumeClaim => ({
  metadata: { name, namespace: 'default', uid: 'claim-uid' },
  spec: { volumeName: 'pv1' },
  status: { phase: 'Bound' },
  ...more,
});
const volume = (name: string, spec: Partial<PersistentVolumeSpec> = {}): PersistentVolume => ({
  metadata: { name, namespace: '', uid: '' },
  spec: { hostPath: { path: '/data' }, claimRef: { name: 'c', namespace: 'default', uid: 'claim-uid' }, ...spec },
});
const byClaim: Volume = { name: 'v', persistentVolumeClaim: { claimName: 'c' } };
const UNREADY =
  'Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], failed to process volumes=[v]: ';

/** Returns the first event of a pod with this volume, by default in a cluster with an API server. */
async function firstEvent(
  objects: { claim?: PersistentVolumeClaim; volume?: PersistentVolume },
  how: { pod?: Volume; device?: boolean } & VolumeWorldOptions = {},
): Promise<string | undefined> {
  const world = volumeWorld({ standalone: false, ...how });
  if (objects.claim !== undefined) world.objects.set('PersistentVolumeClaim', objects.claim);
  if (objects.volume !== undefined) world.objects.set('PersistentVolume', objects.volume);
  const spec =
    how.device === true
      ? { containers: [{ name: 'main', image: 'x', volumeDevices: [{ name: 'v', devicePath: '/dev/x' }] }] }
      : {};
  const stop = new AbortController();
  const ready = world.manager.ensure(testPod('u1', [how.pod ?? byClaim], spec), stop.signal).catch(() => undefined);
  await world.clock.settle();
  stop.abort();
  await ready;
  return world.events[0]?.replace('pod-u1 Warning ', '');
}

test("an unusable claim is reported in upstream's words", async () => {
  const at = 'error processing PVC default/c: ';
  const cases: [Parameters<typeof firstEvent>[0], string | undefined][] = [
    [{}, `${at}failed to fetch PVC from API server: persistentvolumeclaims "c" not found`],
    [{ claim: claim('c', { status: { phase: 'Pending' } }) }, `${at}PVC is not bound`],
    [{ claim: claim('c', { status: {} }) }, `${at}PVC is not bound`],
    [{ claim: claim('c', { spec: {} }) }, `${at}PVC has empty pvc.Spec.VolumeName`],
    [
      {
        claim: claim('c', {
          metadata: { name: 'c', namespace: 'default', uid: 'claim-uid', deletionTimestamp: '2026-01-01T00:00:00Z' },
        }),
      },
      `${at}PVC is being deleted`,
    ],
    [{ claim: claim('c') }, `${at}failed to fetch PV pv1 from API server: persistentvolumes "pv1" not found`],
    [
      { claim: claim('c'), volume: volume('pv1', { claimRef: undefined }) },
      `${at}found PV object pv1 but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim`,
    ],
    [
      { claim: claim('c'), volume: volume('pv1', { claimRef: { uid: 'other' } }) },
      `${at}found PV object pv1 but its pv.Spec.ClaimRef.UID other does not point to claim.UID claim-uid`,
    ],
    [
      { claim: claim('c'), volume: volume('pv1', { volumeMode: 'Block' }) },
      'volume v has volumeMode Block, but is specified in volumeMounts',
    ],
  ];
  for (const [objects, expected] of cases) assert.equal(await firstEvent(objects), `FailedMount ${UNREADY}${expected}`);
  const protectedClaim = claim('c', {
    metadata: {
      name: 'c',
      namespace: 'default',
      uid: 'claim-uid',
      deletionTimestamp: '2026-01-01T00:00:00Z',
      finalizers: ['kubernetes.io/pvc-protection'],
    },
  });
  assert.equal(await firstEvent({ claim: protectedClaim, volume: volume('pv1') }), undefined);
  assert.equal(
    await firstEvent({ claim: claim('c'), volume: volume('pv1') }, { device: true }),
    `FailedMount ${UNREADY}volume v has volumeMode Filesystem, but is specified in volumeDevices`,
  );
});

test('a PersistentVolume of another node, with options its kind does not support, or of a removed kind is rejected', async () => {
  const affinity = {
    required: {
      nodeSelectorTerms: [
        { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In' as const, values: ['node-2'] }] },
      ],
    },
  };
  assert.equal(
    await firstEvent({ claim: claim('c'), volume: volume('pv1', { nodeAffinity: affinity }) }),
    'FailedMount MountVolume.NodeAffinity check failed for volume "pv1" : no matching NodeSelectorTerms',
  );
  assert.equal(
    await firstEvent({ claim: claim('c'), volume: volume('pv1', { mountOptions: ['noatime'] }) }),
    'FailedMount MountVolume.MountOptionSupport check failed for volume "pv1" : mount options are not supported for this volume type',
  );
  const ebs = await firstEvent({
    claim: claim('c'),
    volume: volume('pv1', { hostPath: undefined, awsElasticBlockStore: { volumeID: 'x' } }),
  });
  assert.equal(ebs, 'FailedMount MountVolume.FindPluginBySpec failed for volume "pv1" : no volume plugin matched');
});

test('a generic ephemeral volume uses the claim created for its pod, and no other', async () => {
  const pod: Volume = { name: 'v', ephemeral: { volumeClaimTemplate: { spec: {} } } };
  const made = (owner: Record<string, unknown>): PersistentVolumeClaim =>
    claim('pod-u1-v', {
      metadata: {
        name: 'pod-u1-v',
        namespace: 'default',
        uid: 'claim-uid',
        ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'pod-u1', uid: '', controller: true, ...owner }],
      },
    });
  assert.equal(
    await firstEvent({ claim: claim('pod-u1-v'), volume: volume('pv1') }, { pod }),
    `FailedMount ${UNREADY}PVC default/pod-u1-v was not created for pod default/pod-u1 (pod is not owner)`,
  );
  assert.equal(
    await firstEvent({ claim: made({ uid: 'other' }), volume: volume('pv1') }, { pod }),
    `FailedMount ${UNREADY}PVC default/pod-u1-v was not created for pod default/pod-u1 (pod is not owner)`,
  );
  assert.equal(await firstEvent({ claim: made({ uid: 'u1' }), volume: volume('pv1') }, { pod }), undefined);
  assert.match(
    (await firstEvent({}, { pod, standalone: true })) ?? '',
    /persistentvolumeclaims "pod-u1-v" not found: without an API server it is not created from the template/,
  );
  assert.equal(
    await firstEvent(
      {
        claim: made({ uid: 'unknown' }),
        volume: volume('pv1', { claimRef: { name: 'pod-u1-v', namespace: 'default' } }),
      },
      { pod, standalone: true },
    ),
    undefined,
  );
});

test('without an API server claims are bound by their manifests, and a pod starts as soon as the objects exist', async () => {
  const world = volumeWorld();
  let ready: string | undefined;
  void world.manager.ensure(testPod('u1', [byClaim])).then((volumes) => (ready = volumes.get('v')?.hostPath));
  await world.clock.settle();
  assert.equal(
    world.manager.blockers(podUid('u1'))[0]?.cause,
    `${UNREADY}error processing PVC default/c: failed to fetch PVC from API server: persistentvolumeclaims "c" not found`,
  );
  world.objects.set('PersistentVolumeClaim', { metadata: { name: 'c', namespace: 'default', uid: '' }, spec: {} });
  world.manager.objectChanged({ kind: 'PersistentVolumeClaim', namespace: 'default', name: 'c' });
  await world.clock.settle();
  assert.match(world.events.at(-1) ?? '', /error processing PVC default\/c: PVC is not bound$/);
  world.objects.set('PersistentVolume', volume('pv9', { claimRef: { name: 'c', namespace: 'default' } }));
  world.manager.objectChanged({ kind: 'PersistentVolume', namespace: '', name: 'pv9' });
  await world.clock.settle();
  assert.deepEqual([ready, world.clock.monotonicMs(), world.clock.armedTimers], ['/data', 0, 0]);
});

test('a claim removed under a running pod changes nothing for it', async () => {
  const world = volumeWorld();
  world.objects.set('PersistentVolumeClaim', claim('c'));
  world.objects.set('PersistentVolume', volume('pv1'));
  await world.manager.ensure(testPod('u1', [byClaim]));
  world.objects.delete('PersistentVolumeClaim', 'c');
  world.manager.objectChanged({ kind: 'PersistentVolumeClaim', namespace: 'default', name: 'c' });
  await world.clock.advance(10_000);
  assert.deepEqual([world.events, world.manager.volumesOf(podUid('u1')).size], [[], 1]);
});

test('a claim bound to another volume under a running pod does not change its volume', async () => {
  const world = volumeWorld();
  world.objects.set('PersistentVolumeClaim', claim('c'));
  world.objects.set('PersistentVolume', volume('pv1'));
  await world.manager.ensure(testPod('u1', [byClaim]));
  world.objects.set('PersistentVolumeClaim', claim('c', { spec: { volumeName: 'pv2' } }));
  world.objects.set('PersistentVolume', volume('pv2', { nfs: { server: 's', path: '/e' }, hostPath: undefined }));
  world.manager.objectChanged({ kind: 'PersistentVolumeClaim', namespace: 'default', name: 'c' });
  await world.clock.settle();
  assert.deepEqual(
    [world.manager.volumesOf(podUid('u1')).get('v')?.hostPath, world.mounts.mounted, world.events],
    ['/data', [], []],
  );
});

test('of two pods with one ReadWriteOncePod claim the second waits, and starts when the first is gone', async () => {
  const world = volumeWorld();
  world.objects.set('PersistentVolumeClaim', claim('c'));
  world.objects.set('PersistentVolume', volume('pv1', { accessModes: ['ReadWriteOncePod'] }));
  await world.manager.ensure(testPod('u1', [byClaim]));
  let ready = false;
  void world.manager.ensure(testPod('u2', [byClaim])).then(() => (ready = true));
  await world.clock.settle();
  assert.deepEqual(
    [ready, world.events],
    [
      false,
      [
        'pod-u2 Warning FailedMount MountVolume.SetUp failed for volume "pv1" : volume uses the ReadWriteOncePod access mode and is already in use by another pod',
      ],
    ],
  );
  await world.manager.tearDown(podUid('u1'));
  await world.clock.settle();
  assert.equal(ready, true);
});

test('a ReadWriteOncePod raw device is denied to a second pod with the message for devices', async () => {
  const world = volumeWorld();
  world.files.seed({ '/dev/sdx': 'block' }, true);
  world.objects.set('PersistentVolumeClaim', claim('c', { spec: { volumeName: 'pv1', volumeMode: 'Block' } }));
  world.objects.set(
    'PersistentVolume',
    volume('pv1', {
      accessModes: ['ReadWriteOncePod'],
      volumeMode: 'Block',
      local: { path: '/dev/sdx' },
      hostPath: undefined,
    }),
  );
  const device = {
    containers: [{ name: 'main', image: 'x', volumeDevices: [{ name: 'v', devicePath: '/dev/data' }] }],
  };
  await world.manager.ensure(testPod('u1', [byClaim], device));
  void world.manager.ensure(testPod('u2', [byClaim], device)).catch(() => undefined);
  await world.clock.settle();
  assert.equal(
    world.events.at(-1),
    'pod-u2 Warning FailedMapVolume MapVolume.SetUpDevice failed for volume "pv1" : volume uses the ReadWriteOncePod access mode and is already in use by another pod',
  );
});

test('readOnly of the pod, and the group of the volume, reach the container', async () => {
  const world = volumeWorld();
  world.objects.set('PersistentVolumeClaim', claim('c'));
  world.objects.set('PersistentVolume', {
    ...volume('pv1'),
    metadata: { name: 'pv1', namespace: '', uid: '', annotations: { 'pv.beta.kubernetes.io/gid': '1234' } },
  });
  const volumes = await world.manager.ensure(
    testPod('u1', [{ name: 'v', persistentVolumeClaim: { claimName: 'c', readOnly: true } }]),
  );
  assert.deepEqual(volumes.get('v'), {
    name: 'v',
    hostPath: '/data',
    readOnly: true,
    selinuxRelabel: false,
    extraGroups: [1234],
  });
});

test('a volume that no container uses is not set up, and delays nothing', async () => {
  const world = volumeWorld();
  const pod = testPod('u1', [{ name: 's', secret: { secretName: 'none' } }], {
    containers: [{ name: 'main', image: 'x' }],
  });
  assert.equal((await world.manager.ensure(pod)).size, 0);
  assert.deepEqual(world.events, []);
});
