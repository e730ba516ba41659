import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CsiWorld, PersistentOptions } from './testing/csi-world.ts';
import { csiWorld, persistentSpec, setUp, testPod } from './testing/csi-world.ts';

const GIB = 2 ** 30;

async function inUse(options: PersistentOptions = {}): Promise<CsiWorld> {
  const world = csiWorld();
  await world.register();
  world.driver.capabilities = ['STAGE_UNSTAGE_VOLUME', 'EXPAND_VOLUME'];
  await setUp(world, persistentSpec(options));
  return world;
}

const again = (world: Pick<CsiWorld, 'plugin' | 'files'>, options: PersistentOptions) =>
  setUp(world, persistentSpec(options), { again: true });

test('a volume whose PersistentVolume grew is expanded while it is in use, once, with the event', async () => {
  const world = await inUse({ csi: { fsType: 'xfs' } });
  assert.deepEqual(world.driver.expansions, []);
  world.setSecret('x', { key: 'v' });
  const grown = {
    capacity: '2Gi',
    csi: { fsType: 'xfs', nodeExpandSecretRef: { name: 'x', namespace: 'ns' } },
    pv: { mountOptions: ['noatime'] },
  };
  assert.equal((await again(world, grown)).againInMs, undefined);
  const [expansion] = world.driver.expansions;
  assert.deepEqual(expansion, {
    volumeId: 'h1',
    volumePath: '/root/pods/u1/volumes/kubernetes.io~csi/pv1/mount',
    stagingPath: world.driver.stages[0]?.stagingPath,
    requiredBytes: 2 * GIB,
    capability: {
      accessMode: 'SINGLE_NODE_WRITER',
      access: { kind: 'mount', fsType: 'xfs', mountFlags: ['noatime'], mountGroup: '' },
    },
    secrets: { key: 'v' },
  });
  assert.deepEqual(world.events, [
    'pod-u1 Normal FileSystemResizeSuccessful MountVolume.NodeExpandVolume succeeded for volume "pv1" node1',
  ]);
  await again(world, grown);
  assert.equal(world.driver.expansions.length, 1);
});

test('of two pods with one volume the first expands it for both', async () => {
  const world = await inUse();
  await setUp(world, persistentSpec(), { pod: testPod('u2') });
  const spec = persistentSpec({ capacity: '2Gi' });
  await Promise.all([setUp(world, spec, { again: true }), setUp(world, spec, { again: true, pod: testPod('u2') })]);
  assert.equal(world.driver.expansions.length, 1);
});

test('a volume that grew while no agent ran is expanded by the next one; an expanded one is not expanded again', async () => {
  const world = await inUse();
  const later = world.restart();
  await later.register();
  await setUp({ plugin: later.plugin, files: world.files }, persistentSpec({ capacity: '2Gi' }));
  assert.equal(world.driver.expansions.length, 1);
  const last = world.restart();
  await last.register();
  await setUp({ plugin: last.plugin, files: world.files }, persistentSpec({ capacity: '2Gi' }));
  assert.equal(world.driver.expansions.length, 1);
});

test("the size in the claim's status counts where a controller writes it", async () => {
  const world = await inUse({ capacity: '2Gi', claimed: '1Gi' });
  assert.equal(world.driver.expansions.length, 1);
  const step = await inUse({
    capacity: '4Gi',
    status: {
      capacity: { storage: '1Gi' },
      allocatedResources: { storage: '3Gi' },
      allocatedResourceStatuses: { storage: 'NodeResizePending' },
    },
  });
  assert.deepEqual(
    step.driver.expansions.map(({ requiredBytes }) => requiredBytes),
    [3 * GIB],
  );
  assert.deepEqual((await inUse({ capacity: '1Gi', claimed: '2Gi' })).driver.expansions, []);
});

test('a driver that cannot expand volumes is called once; the volume stays in use', async () => {
  const world = await inUse();
  world.driver.capabilities = ['STAGE_UNSTAGE_VOLUME'];
  assert.equal((await again(world, { capacity: '2Gi' })).againInMs, undefined);
  await again(world, { capacity: '2Gi' });
  assert.deepEqual(world.driver.expansions, []);
  assert.equal(world.events.length, 1);
  assert.match(
    world.events[0] ?? '',
    /Warning VolumeResizeFailed NodeExpandVolume\.NodeExpandVolume failed for volume "pv1" : .*NodeExpand is not supported by the CSI driver d\.example$/,
  );
});

test('a failure is retried with growing pauses, one because the volume is in use not at all', async () => {
  const world = await inUse();
  world.driver.fail('expand', { code: 'Internal', times: 2 });
  assert.equal((await again(world, { capacity: '2Gi' })).againInMs, 500);
  assert.equal((await again(world, { capacity: '2Gi' })).againInMs, 1000);
  assert.equal((await again(world, { capacity: '2Gi' })).againInMs, undefined);
  assert.equal(world.driver.expansions.length, 1);
  world.driver.fail('expand', { code: 'FailedPrecondition', times: 1 });
  assert.equal((await again(world, { capacity: '3Gi' })).againInMs, undefined);
  await again(world, { capacity: '3Gi' });
  assert.equal(world.driver.expansions.length, 1);
  await again(world, { capacity: '4Gi' });
  assert.equal(world.driver.expansions.length, 2);
  world.driver.fail('expand', { code: 'OutOfRange', times: 1 });
  assert.equal((await again(world, { capacity: '5Gi' })).againInMs, 122_000);
});

test('a read-only volume is not expanded, which is reported once', async () => {
  const world = await inUse({ readOnly: true });
  await again(world, { readOnly: true, capacity: '2Gi' });
  await again(world, { readOnly: true, capacity: '2Gi' });
  assert.deepEqual(world.events, [
    'pod-u1 Warning FileSystemResizeFailed MountVolume.NodeExpandVolume failed for volume "pv1" requested read-only file system',
  ]);
});

test('a raw device is expanded too', async () => {
  const world = await inUse({ mode: 'Block' });
  await again(world, { mode: 'Block', capacity: '2Gi' });
  const [expansion] = world.driver.expansions;
  assert.deepEqual(
    [expansion?.volumePath, expansion?.capability.access],
    ['/root/plugins/kubernetes.io/csi/volumeDevices/publish/pv1/u1', { kind: 'block' }],
  );
});

test('on a node of a cluster the claim shows the expansion and its size, retried until it is written', async () => {
  const reported: string[] = [];
  const answers = [true, false, true];
  const world = csiWorld({
    claims: {
      report: async (_, news) => (
        reported.push(news.kind === 'finished' ? `finished ${news.size}` : news.kind), answers.shift() ?? true
      ),
    },
  });
  await world.register();
  world.driver.capabilities = ['STAGE_UNSTAGE_VOLUME', 'EXPAND_VOLUME'];
  await setUp(world, persistentSpec({ claimed: '1Gi' }));
  const grown = { capacity: '2Gi', claimed: '1Gi' };
  assert.ok(((await again(world, grown)).againInMs ?? 0) > 0);
  assert.equal((await again(world, grown)).againInMs, undefined);
  assert.deepEqual([reported, world.driver.expansions.length], [['inProgress', 'finished 2Gi', 'finished 2Gi'], 1]);
});
