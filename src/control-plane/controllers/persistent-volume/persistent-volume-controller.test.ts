import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { persistentVolumeClaims, persistentVolumes, pods, storageClasses } from '../../../api/client/resource-types.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import type { StorageClass } from '../../../api/storage/storage-class.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { createPersistentVolumeController } from './persistent-volume-controller.ts';
import { buildClaim, buildVolume } from './testing/builders.ts';

interface Seeds {
  readonly volumes?: readonly PersistentVolume[];
  readonly claims?: readonly PersistentVolumeClaim[];
  readonly classes?: readonly StorageClass[];
  readonly seed?: number;
  readonly lagMs?: number;
}

async function setUp({
  volumes = [],
  claims = [],
  classes = [],
  seed = 1,
  lagMs = 0,
}: Seeds): Promise<ControllerWorld> {
  const world = new ControllerWorld({ make: (options) => [createPersistentVolumeController(options)], seed, lagMs });
  for (const each of classes) world.api.seed(storageClasses, each);
  for (const each of volumes) world.api.seed(persistentVolumes, each);
  for (const each of claims) world.api.seed(persistentVolumeClaims, each);
  world.start();
  await world.clock.advance(3_000);
  return world;
}

const volumeOf = (world: ControllerWorld, name = 'v'): PersistentVolume | undefined =>
  world.api.peek(persistentVolumes, { namespace: '', name });
const claimOf = (world: ControllerWorld, name = 'data'): PersistentVolumeClaim | undefined =>
  world.api.peek(persistentVolumeClaims, { namespace: 'default', name });
const phases = (world: ControllerWorld): unknown[] => [volumeOf(world)?.status?.phase, claimOf(world)?.status?.phase];
const storageClass = (name: string, more: Partial<StorageClass> = {}): StorageClass => ({
  metadata: { name, namespace: '', uid: name },
  provisioner: 'example.com/disk',
  ...more,
});

it('binds a claim and a volume, and writes the binding into both', async () => {
  const world = await setUp({ volumes: [buildVolume('v', { phase: 'Pending' })], claims: [buildClaim({})] });
  const volume = volumeOf(world);
  const { resourceVersion: _, ...reference } = volume?.spec.claimRef ?? {};
  assert.deepEqual(reference, {
    kind: 'PersistentVolumeClaim',
    apiVersion: 'v1',
    namespace: 'default',
    name: 'data',
    uid: 'uid-data',
  });
  assert.deepEqual(
    [volume?.metadata.annotations, volume?.status],
    [{ 'pv.kubernetes.io/bound-by-controller': 'yes' }, { phase: 'Bound' }],
  );
  const claim = claimOf(world);
  assert.deepEqual(
    [claim?.spec.volumeName, claim?.metadata.annotations],
    ['v', { 'pv.kubernetes.io/bind-completed': 'yes', 'pv.kubernetes.io/bound-by-controller': 'yes' }],
  );
  assert.deepEqual(claim?.status, { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '10Gi' } });
  const { length } = world.api.writes;
  await world.clock.advance(600_000);
  assert.equal(world.api.writes.length, length, 'what is bound costs nothing');
  await world.stop();
});

it('a waiting claim is bound to the first suitable new volume, and a waiting volume to the first suitable new claim', async () => {
  const world = await setUp({ claims: [buildClaim({})] });
  assert.deepEqual(world.events, [
    'Normal FailedBinding no persistent volumes available for this claim and no storage class is set',
  ]);
  world.api.seed(persistentVolumes, buildVolume('v', { phase: 'Pending' }));
  await world.clock.advance(1_000);
  assert.deepEqual(phases(world), ['Bound', 'Bound']);
  world.api.seed(persistentVolumes, buildVolume('w', { phase: 'Pending' }));
  await world.clock.advance(1_000);
  assert.equal(volumeOf(world, 'w')?.status?.phase, 'Available');
  world.api.seed(persistentVolumeClaims, buildClaim({ name: 'more' }));
  await world.clock.advance(1_000);
  assert.equal(claimOf(world, 'more')?.spec.volumeName, 'w');
  await world.stop();
});

it("a binding that users have started is completed, without the controller's annotation", async () => {
  const byVolume = await setUp({
    volumes: [buildVolume('v', { claimRef: { namespace: 'default', name: 'data' } })],
    claims: [buildClaim({})],
  });
  assert.deepEqual(
    [phases(byVolume), volumeOf(byVolume)?.spec.claimRef?.uid, volumeOf(byVolume)?.metadata.annotations],
    [['Bound', 'Bound'], 'uid-data', undefined],
  );
  const byClaim = await setUp({
    volumes: [buildVolume('v'), buildVolume('a', { size: '5Gi' })],
    claims: [buildClaim({ spec: { volumeName: 'v' } })],
  });
  assert.deepEqual(
    [phases(byClaim), claimOf(byClaim)?.metadata.annotations],
    [['Bound', 'Bound'], { 'pv.kubernetes.io/bind-completed': 'yes' }],
  );
  await Promise.all([byVolume.stop(), byClaim.stop()]);
});

it('reports why a claim cannot be bound to the volume that it names', async () => {
  const small = await setUp({
    volumes: [buildVolume('v', { size: '1Gi' })],
    claims: [buildClaim({ spec: { volumeName: 'v' } })],
  });
  assert.deepEqual(
    [phases(small), small.events],
    [
      ['Available', 'Pending'],
      ['Warning VolumeMismatch Cannot bind to requested volume "v": requested PV is too small'],
    ],
  );
  const taken = await setUp({
    volumes: [buildVolume('v', { claimRef: { namespace: 'default', name: 'other' } })],
    claims: [buildClaim({ spec: { volumeName: 'v' } })],
  });
  assert.deepEqual(
    [phases(taken), taken.events],
    [['Available', 'Pending'], ['Warning FailedBinding volume "v" already bound to a different claim.']],
  );
  await Promise.all([small.stop(), taken.stop()]);
});

it('a released volume is retained, or reports that it cannot be deleted; a claim whose volume was deleted is Lost', async () => {
  for (const [policy, phase, message] of [
    ['Retain', 'Released', undefined],
    ['Delete', 'Failed', 'host_path deleter only supports /tmp/.+ but received provided /data'],
    ['Recycle', 'Failed', 'No recycler plugin found for the volume!'],
  ] as const) {
    const world = await setUp({
      volumes: [buildVolume('v', { spec: { persistentVolumeReclaimPolicy: policy } })],
      claims: [buildClaim({})],
    });
    world.api.remove(persistentVolumeClaims, { namespace: 'default', name: 'data' });
    await world.clock.advance(1_000);
    assert.deepEqual(
      [volumeOf(world)?.status?.phase, volumeOf(world)?.status?.message, volumeOf(world)?.spec.claimRef?.uid],
      [phase, message, 'uid-data'],
    );
    world.api.seed(persistentVolumeClaims, {
      ...buildClaim({}),
      metadata: { namespace: 'default', name: 'data', uid: 'another' },
    });
    await world.clock.advance(1_000);
    assert.deepEqual(phases(world), [phase, 'Pending'], "another claim of the name does not get the old one's data");
    await world.stop();
  }
  const world = await setUp({ volumes: [buildVolume('v')], claims: [buildClaim({})] });
  world.api.remove(persistentVolumes, { namespace: '', name: 'v' });
  await world.clock.advance(1_000);
  assert.deepEqual(
    [claimOf(world)?.status, world.events],
    [{ phase: 'Lost' }, ['Warning ClaimLost Bound claim has lost its PersistentVolume. Data on the volume is lost!']],
  );
  await world.stop();
});

it('volumes of external drivers are only released', async () => {
  const csi = { persistentVolumeReclaimPolicy: 'Delete' as const, csi: { driver: 'd', volumeHandle: 'h' } };
  const world = await setUp({ volumes: [buildVolume('v', { spec: csi })], claims: [buildClaim({})] });
  world.api.remove(persistentVolumeClaims, { namespace: 'default', name: 'data' });
  await world.clock.advance(1_000);
  assert.equal(volumeOf(world)?.status?.phase, 'Released');
  await world.stop();
});

it('a claim with WaitForFirstConsumer is left to the scheduler, and an event states the reason', async () => {
  const classes = [storageClass('late', { volumeBindingMode: 'WaitForFirstConsumer' })];
  const claims = [buildClaim({ spec: { storageClassName: 'late' } })];
  const world = await setUp({ classes, claims, volumes: [buildVolume('v', { spec: { storageClassName: 'late' } })] });
  assert.deepEqual(
    [phases(world), world.events],
    [['Available', 'Pending'], ['Normal WaitForFirstConsumer waiting for first consumer to be created before binding']],
  );
  world.api.seed(pods, buildPod({ 'spec.volumes': [{ name: 'd', persistentVolumeClaim: { claimName: 'data' } }] }));
  await world.clock.advance(1_000);
  assert.equal(world.events.at(-1), 'Normal WaitForPodScheduled waiting for pod web to be scheduled');
  // This does what the scheduler does after its decision.
  world.api.change(persistentVolumes, { namespace: '', name: 'v' }, (volume) => ({
    ...volume,
    metadata: { ...volume.metadata, annotations: { 'pv.kubernetes.io/bound-by-controller': 'yes' } },
    spec: { ...volume.spec, claimRef: { namespace: 'default', name: 'data', uid: 'uid-data' } },
  }));
  await world.clock.advance(1_000);
  assert.deepEqual(phases(world), ['Bound', 'Bound']);
  await world.stop();
});

it('requests a volume from the provisioner of the class, or of the default class, once', async () => {
  const old = storageClass('old', {
    metadata: {
      name: 'old',
      namespace: '',
      uid: 'old',
      creationTimestamp: '2020-01-01T00:00:00Z',
      annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' },
    },
  });
  const { storageClassName: _, ...unsaid } = buildClaim({}).spec;
  const world = await setUp({ classes: [old], claims: [{ ...buildClaim({}), spec: unsaid }] });
  const claim = claimOf(world);
  assert.deepEqual(
    [
      claim?.spec.storageClassName,
      claim?.metadata.annotations?.['volume.kubernetes.io/storage-provisioner'],
      claim?.status?.phase,
    ],
    ['old', 'example.com/disk', 'Pending'],
  );
  assert.match(
    world.events.join('\n'),
    /^Normal ExternalProvisioning Waiting for a volume to be created either by the external provisioner 'example\.com\/disk' or manually/,
  );
  assert.equal(world.api.writes.filter((each) => each.startsWith('update persistentvolumeclaims')).length, 2);
  const missing = await setUp({ claims: [buildClaim({ spec: { storageClassName: 'none' } })] });
  assert.deepEqual(missing.events, ['Warning ProvisioningFailed storageclass.storage.k8s.io "none" not found']);
  await Promise.all([world.stop(), missing.stop()]);
});

it('a volume reserved for a claim that was bound to another volume is available again', async () => {
  const bound = { 'pv.kubernetes.io/bind-completed': 'yes' };
  const claimRef = { namespace: 'default', name: 'data', uid: 'uid-data' };
  const volumes = [
    buildVolume('v', { claimRef, annotations: { 'pv.kubernetes.io/bound-by-controller': 'yes' }, phase: 'Bound' }),
    buildVolume('w', { claimRef, phase: 'Bound' }),
    buildVolume('kept', { claimRef, phase: 'Bound' }),
  ];
  const world = await setUp({
    volumes,
    claims: [
      {
        ...buildClaim({ annotations: bound, spec: { volumeName: 'w' } }),
        status: { phase: 'Bound', accessModes: ['ReadWriteOnce'] },
      },
    ],
  });
  assert.deepEqual([volumeOf(world)?.spec.claimRef, volumeOf(world)?.status?.phase], [undefined, 'Available']);
  assert.deepEqual(
    [volumeOf(world, 'kept')?.spec.claimRef, volumeOf(world, 'kept')?.status?.phase],
    [{ namespace: 'default', name: 'data' }, 'Available'],
  );
  assert.equal(volumeOf(world, 'w')?.status?.phase, 'Bound');
  await world.stop();
});

it('despite crashes and late events, each claim has one volume and each volume one claim', () =>
  fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 3 }),
      fc.nat(1_000),
      async (volumeCount, claimCount, kills, seed) => {
        const volumes = Array.from({ length: volumeCount }, (_, index) =>
          buildVolume(`v${index}`, { phase: 'Pending' }),
        );
        const claims = Array.from({ length: claimCount }, (_, index) => buildClaim({ name: `c${index}` }));
        const world = new ControllerWorld({
          make: (options) => [createPersistentVolumeController(options)],
          seed,
          lagMs: 800,
        });
        for (const each of volumes) world.api.seed(persistentVolumes, each);
        for (const each of claims) world.api.seed(persistentVolumeClaims, each);
        world.start();
        for (const writes of kills) {
          world.restartAtWrite(writes);
          await world.clock.advance(2_000);
        }
        await world.clock.advance(30_000);
        const bound = world.api.all(persistentVolumeClaims).filter(({ status }) => status?.phase === 'Bound');
        assert.equal(bound.length, Math.min(volumeCount, claimCount));
        const pairs = bound.map(({ metadata, spec }) => `${spec.volumeName}=${metadata.uid}`).sort();
        assert.deepEqual(
          world.api
            .all(persistentVolumes)
            .filter(({ status }) => status?.phase === 'Bound')
            .map(({ metadata, spec }) => `${metadata.name}=${spec.claimRef?.uid}`)
            .sort(),
          pairs,
        );
        await world.stop();
      },
    ),
    { numRuns: 40 },
  ));
