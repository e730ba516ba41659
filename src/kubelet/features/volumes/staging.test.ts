import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Volume } from '../../../api/core/volume.ts';
import { podUid } from '../../model/ids.ts';
import type { StagedVolume, VolumeOnDisk, VolumePlugin } from '../../ports/volume-plugin.ts';
import { ROOT, testPod, volumeWorld } from './testing/volume-world.ts';

const shared: Volume = { name: 'v', flexVolume: { driver: 'test/staged' } };

/** A plugin with one storage for all of its volumes, which records its calls. Staged volumes are in `disk`. */
function stagedPlugin() {
  const calls: string[] = [];
  const disk = new Set<string>();
  const faults: { stage?: () => Promise<void>; tearDown?: () => Promise<void>; unstage?: () => Promise<void> } = {};
  const staged: StagedVolume = { key: 'test/staged^1', path: '/staged/1' };
  const plugin: VolumePlugin = {
    name: 'test/staged',
    supports: (spec) => spec.kind === 'inline' && spec.volume.flexVolume?.driver === 'test/staged',
    setUp: async ({ pod, path, staged: made }) => {
      calls.push(`setUp ${pod.metadata.uid}`);
      return { hostPath: `${path}/${made?.path ?? 'unstaged'}`, readOnly: false, selinuxRelabel: false };
    },
    tearDown: async ({ podUid: uid }: VolumeOnDisk) => {
      await faults.tearDown?.();
      calls.push(`tearDown ${uid}`);
    },
    staging: {
      plan: () => staged,
      attaches: () => 'byController',
      stage: async () => {
        calls.push('stage');
        disk.add(staged.key);
        await faults.stage?.();
        return staged;
      },
      unstage: async () => {
        calls.push('unstage');
        await faults.unstage?.();
        disk.delete(staged.key);
      },
      identify: async () => staged,
      findStaged: async () => (disk.has(staged.key) ? [staged] : []),
    },
  };
  return { plugin, calls, disk, faults };
}

type Fixture = ReturnType<typeof volumeWorld>;

/** The plugin's folder of a pod, which a real plugin creates in `setUp`. */
async function makeFolders(world: Fixture, ...uids: string[]): Promise<void> {
  for (const uid of uids) await world.files.makeDirectory(`${ROOT}/pods/${uid}/volumes/test~staged/v`, 0o750);
}

test('a storage is staged once for all pods of the node, and unstaged after the last of them', async () => {
  const { plugin, calls } = stagedPlugin();
  const world = volumeWorld({ plugins: [plugin] });
  const [one, two] = [testPod('u1', [shared]), testPod('u2', [shared])];
  const volumes = await Promise.all([world.manager.ensure(one), world.manager.ensure(two)]);
  assert.equal(volumes[0].get('v')?.hostPath, `${ROOT}/pods/u1/volumes/test~staged/v//staged/1`);
  assert.deepEqual(world.manager.volumesInUse(), ['test/staged^1']);
  await makeFolders(world, 'u1', 'u2');
  await world.manager.tearDown(podUid('u1'));
  await world.manager.tearDown(podUid('u2'));
  await world.clock.settle();
  assert.deepEqual(
    [calls, world.manager.volumesInUse()],
    [['stage', 'setUp u1', 'setUp u2', 'tearDown u1', 'tearDown u2', 'unstage'], []],
  );
});

test("staging that failed half-way is undone when the pod goes, and its error is reported as the node's", async () => {
  const { plugin, calls, disk, faults } = stagedPlugin();
  const world = volumeWorld({ plugins: [plugin] });
  faults.stage = () => Promise.reject(new Error('driver error'));
  const waiting = world.manager.ensure(testPod('u1', [shared])).catch(() => undefined);
  await world.clock.settle();
  assert.deepEqual(world.events, [
    'pod-u1 Warning FailedMount MountVolume.MountDevice failed for volume "v" : driver error',
  ]);
  await world.manager.tearDown(podUid('u1'));
  await waiting;
  await world.clock.settle();
  assert.deepEqual([calls, disk.size], [['stage', 'unstage'], 0]);
});

test('unstaging is retried until it succeeds, and a pod added meanwhile stages again', async () => {
  const { plugin, calls, faults } = stagedPlugin();
  const world = volumeWorld({ plugins: [plugin] });
  await world.manager.ensure(testPod('u1', [shared]));
  faults.unstage = () => Promise.reject(new Error('busy'));
  await world.manager.tearDown(podUid('u1'));
  await world.clock.advance(2000);
  assert.equal(calls.filter((call) => call === 'unstage').length, 3);
  delete faults.unstage;
  await world.manager.ensure(testPod('u2', [shared]));
  await world.clock.advance(60_000);
  assert.deepEqual(calls.slice(-2), ['stage', 'setUp u2']);
});

test('after a restart a running pod keeps its storage, and unused storage is unstaged once all pods are known', async () => {
  const { plugin, calls, disk } = stagedPlugin();
  const world = volumeWorld({ plugins: [plugin] });
  await world.manager.ensure(testPod('u1', [shared]));
  await makeFolders(world, 'u1');
  world.manager.stop();
  const restarted = world.restart();
  await restarted.reconstruct();
  calls.length = 0;
  await restarted.cleanupOrphans(new Set([podUid('u1')]));
  assert.deepEqual([calls, restarted.volumesInUse()], [[], ['test/staged^1']]);
  await restarted.ensure(testPod('u1', [shared]));
  await restarted.tearDown(podUid('u1'));
  await world.clock.settle();
  assert.deepEqual([calls, disk.size], [['stage', 'setUp u1', 'tearDown u1', 'unstage'], 0]);
});

test('a pod that vanished while the agent was down is torn down from its folder, and its storage unstaged', async () => {
  const { plugin, calls, disk } = stagedPlugin();
  const world = volumeWorld({ plugins: [plugin] });
  await world.manager.ensure(testPod('u1', [shared]));
  await makeFolders(world, 'u1');
  world.manager.stop();
  const restarted = world.restart();
  await restarted.reconstruct();
  calls.length = 0;
  assert.equal(await restarted.cleanupOrphans(new Set()), 0);
  await world.clock.settle();
  assert.deepEqual([calls, disk.size, await world.files.list(`${ROOT}/pods`)], [['tearDown u1', 'unstage'], 0, []]);
});

test('an object in another namespace, such as the secret of a PersistentVolume, is followed too', async () => {
  const { plugin, calls, faults } = stagedPlugin();
  const world = volumeWorld({
    plugins: [{ ...plugin, objectsOf: () => [{ kind: 'Secret', namespace: 'storage', name: 'key' }] }],
  });
  faults.stage = () => Promise.reject(new Error('no secret'));
  const waiting = world.manager.ensure(testPod('u1', [shared]));
  await world.clock.settle();
  delete faults.stage;
  world.manager.objectChanged({ kind: 'Secret', namespace: 'default', name: 'key' });
  await world.clock.settle();
  assert.deepEqual(calls, ['stage']);
  world.manager.objectChanged({ kind: 'Secret', namespace: 'storage', name: 'key' });
  await waiting;
});

test("a volume that is set up again because it expires gets the pod's group again, another volume does not", async () => {
  for (const againInMs of [60_000, undefined]) {
    const { plugin } = stagedPlugin();
    const setUp: VolumePlugin['setUp'] = async ({ path }) => ({
      hostPath: path,
      readOnly: false,
      selinuxRelabel: false,
      ownership: 'apply',
      ...(againInMs === undefined ? {} : { againInMs }),
    });
    const world = volumeWorld({ plugins: [{ ...plugin, setUp, followsPod: () => true }] });
    const pod = testPod('u1', [shared], { securityContext: { fsGroup: 77 } });
    await makeFolders(world, 'u1');
    const ready = await world.manager.ensure(pod);
    const path = ready.get('v')?.hostPath ?? '';
    world.files.seed({ [`${path}/new`]: 'made again' });
    await world.manager.ensure({ ...pod, metadata: { ...pod.metadata, labels: { a: 'b' } } });
    await world.clock.settle();
    assert.equal((await world.files.lstat(`${path}/new`))?.gid, againInMs === undefined ? 0 : 77);
  }
});

test('when a driver is back, neither storage nor folders of vanished pods wait for their back-off', async () => {
  const { plugin, calls, disk, faults } = stagedPlugin();
  const before = volumeWorld({ plugins: [plugin] });
  await before.manager.ensure(testPod('u1', [shared]));
  await makeFolders(before, 'u1');
  const away = (): Promise<void> => Promise.reject(new Error('the driver is down'));
  Object.assign(faults, { tearDown: away, unstage: away });
  const manager = before.restart();
  await manager.reconstruct();
  await manager.cleanupOrphans(new Set());
  delete faults.tearDown;
  await manager.cleanupOrphans(new Set());
  assert.equal(calls.includes('tearDown u1'), false);
  manager.undoAgain();
  await manager.cleanupOrphans(new Set());
  await before.clock.settle();
  assert.deepEqual([calls.includes('tearDown u1'), disk.size], [true, 1]);
  delete faults.unstage;
  await before.clock.settle();
  assert.equal(disk.size, 1);
  manager.undoAgain();
  await before.clock.settle();
  assert.equal(disk.size, 0);
});

test('staged storage without any folder of a pod is found and unstaged', async () => {
  const { plugin, calls, disk } = stagedPlugin();
  disk.add('test/staged^1');
  const world = volumeWorld({ plugins: [plugin] });
  await world.manager.reconstruct();
  await world.clock.settle();
  assert.deepEqual(calls, []);
  await world.manager.cleanupOrphans(new Set());
  await world.clock.settle();
  assert.deepEqual([calls, disk.size], [['unstage'], 0]);
});

test("a plugin that fails to release one volume delays neither the pod's other volumes nor other pods", async () => {
  const { plugin, faults } = stagedPlugin();
  const world = volumeWorld({ plugins: [plugin] });
  await world.manager.ensure(testPod('u1', [shared, { name: 'e', emptyDir: {} }]));
  await makeFolders(world, 'u1');
  faults.tearDown = () => Promise.reject(new Error('driver is down'));
  await assert.rejects(world.manager.tearDown(podUid('u1')), /driver is down/);
  assert.deepEqual(
    [
      await world.files.list(`${ROOT}/pods/u1/volumes/kubernetes.io~empty-dir`),
      await world.files.list(`${ROOT}/pods/u1/volumes/test~staged`),
    ],
    [[], ['v']],
  );
  delete faults.tearDown;
  await world.manager.tearDown(podUid('u1'));
  assert.deepEqual(await world.files.list(`${ROOT}/pods`), []);
});

test('a hung storage delays only the pods that use it', async () => {
  const { plugin, faults } = stagedPlugin();
  const world = volumeWorld({ plugins: [plugin] });
  faults.stage = () => new Promise(() => undefined);
  void world.manager.ensure(testPod('u1', [shared])).catch(() => undefined);
  await world.clock.settle();
  await world.manager.ensure(testPod('u2', [{ name: 'e', emptyDir: {} }]));
  await world.manager.tearDown(podUid('u2'));
  await world.clock.advance(31_000);
  assert.deepEqual(world.events, [
    'pod-u1 Warning FailedMount MountVolume.SetUp failed for volume "v" : no answer within 30 s',
  ]);
});

test('mounts of parts of volumes are removed before the volumes', async () => {
  const { plugin, calls } = stagedPlugin();
  const world = volumeWorld({ plugins: [plugin] });
  await world.manager.ensure(testPod('u1', [shared]));
  await makeFolders(world, 'u1');
  const part = `${ROOT}/pods/u1/volume-subpaths/v/main/0`;
  await world.files.makeDirectory(part, 0o750);
  world.mounts.seedMount(part, 'ext4', '/dev/x');
  const { unmount } = world.mounts;
  world.mounts.unmount = (path) => (
    calls.push(`unmount ${path.split('/').at(-4) ?? ''}`), unmount.call(world.mounts, path)
  );
  calls.length = 0;
  await world.manager.tearDown(podUid('u1'));
  await world.clock.settle();
  assert.deepEqual(calls, ['unmount volume-subpaths', 'tearDown u1', 'unstage']);
});
