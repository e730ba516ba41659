import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StagedVolume } from '../../ports/volume-plugin.ts';
import { csiWorld, inlineSpec, onDisk, persistentSpec, setUp, stage, testPod } from './testing/csi-world.ts';

const KEY = 'kubernetes.io/csi/d.example^h1';

async function staged(world: ReturnType<typeof csiWorld>): Promise<StagedVolume> {
  const made = await stage(world, persistentSpec());
  assert.ok(made !== undefined);
  return made;
}

test('a volume is identified by driver and handle, whichever pod uses it', async () => {
  const { plugin } = csiWorld();
  const [one, other] = [
    await plugin.staging.plan(persistentSpec(), testPod('u1')),
    await plugin.staging.plan(persistentSpec(), testPod('u2')),
  ];
  assert.deepEqual(one, other);
  assert.equal(one?.key, KEY);
  assert.throws(() => plugin.staging.plan(persistentSpec({ csi: { volumeHandle: '' } }), testPod('u1')), {
    kind: 'Invalid',
  });
  assert.throws(() => plugin.staging.plan(persistentSpec({ csi: { driver: '../../etc' } }), testPod('u1')), {
    kind: 'Invalid',
  });
});

test('a staged volume is unstaged without remains; a second time is success', async () => {
  const world = csiWorld();
  await world.register();
  const made = await staged(world);
  assert.deepEqual(
    world.mounts.mounted.map(({ path }) => path),
    [made.path],
  );
  await world.plugin.staging.unstage(made);
  assert.deepEqual(
    [world.mounts.mounted, await world.files.list('/root/plugins/kubernetes.io/csi/d.example')],
    [[], []],
  );
  await world.plugin.staging.unstage(made);
  assert.equal(world.driver.calls.filter((call) => call.startsWith('unstage')).length, 1);
});

test('the rest of an interrupted data file does not keep the volume; data that is not mounted does', async () => {
  const world = csiWorld();
  await world.register();
  const made = await staged(world);
  world.files.seed({ [made.path.replace('globalmount', '.vol_data.json.123')]: '{' });
  await world.plugin.staging.unstage(made);
  assert.deepEqual(await world.files.list('/root/plugins/kubernetes.io/csi/d.example'), []);
  const again = await staged(world);
  await world.mounts.unmount(again.path);
  world.files.seed({ [`${again.path}/precious`]: 'data' });
  await assert.rejects(world.plugin.staging.unstage(again), /failed to clean up global mount .*directory not empty/);
  assert.equal(world.files.peek(`${again.path}/precious`), 'data');
});

test('a driver that does not stage is published to without a staging path', async () => {
  const world = csiWorld();
  await world.register();
  world.driver.capabilities = [];
  await setUp(world, persistentSpec());
  assert.deepEqual([world.driver.stages, world.driver.publishes[0]?.stagingPath], [[], '']);
  const planned = await world.plugin.staging.plan(persistentSpec(), testPod('u1'));
  assert.ok(planned !== undefined);
  await world.plugin.staging.unstage(planned);
  assert.deepEqual(
    world.driver.calls.filter((call) => call.startsWith('unstage')),
    [],
  );
});

test('a stage that failed permanently leaves nothing; one of unknown outcome is undone when the pod is removed', async () => {
  const world = csiWorld();
  await world.register();
  const planned = await world.plugin.staging.plan(persistentSpec(), testPod('u1'));
  assert.ok(planned !== undefined);
  world.driver.fail('stage', { code: 'NotFound', message: 'no such disk', times: 1 });
  await assert.rejects(stage(world, persistentSpec()), { message: 'rpc error: code = NotFound desc = no such disk' });
  assert.deepEqual(await world.files.list('/root/plugins/kubernetes.io/csi/d.example'), []);
  world.driver.fail('stage', { code: 'DeadlineExceeded', times: 1, after: true });
  await assert.rejects(stage(world, persistentSpec()), { kind: 'Timeout' });
  assert.equal(world.mounts.mounted.length, 1);
  await world.plugin.staging.unstage(planned);
  assert.deepEqual(world.mounts.mounted, []);
});

test("a driver that fails to unstage is called again; its failure is reported in upstream's words", async () => {
  const world = csiWorld();
  await world.register();
  const made = await staged(world);
  world.driver.fail('unstage', { code: 'Internal', message: 'busy', times: 1 });
  await assert.rejects(world.plugin.staging.unstage(made), {
    message: 'kubernetes.io/csi: attacher.UnmountDevice failed: rpc error: code = Internal desc = busy',
  });
  await world.plugin.staging.unstage(made);
  assert.deepEqual(world.mounts.mounted, []);
});

test("a restarted agent finds what is staged, and which of it a pod's folder uses", async () => {
  const world = csiWorld();
  await world.register();
  const made = await staged(world);
  await setUp(world, persistentSpec(), { staged: made });
  world.setDriver({ volumeLifecycleModes: ['Ephemeral'] });
  await setUp(world, inlineSpec());
  const { plugin, register } = world.restart();
  const found = await plugin.staging.findStaged();
  assert.deepEqual(
    found.map(({ key, path }) => ({ key, path })),
    [{ key: KEY, path: made.path }],
  );
  const used = await plugin.staging.identify(onDisk(persistentSpec()));
  assert.deepEqual([used?.key, used?.path], [KEY, made.path]);
  assert.equal(await plugin.staging.identify(onDisk(inlineSpec())), undefined);
  assert.equal(await plugin.staging.identify(onDisk(persistentSpec(), 'unknown')), undefined);
  await register();
  await plugin.tearDown(onDisk(persistentSpec()));
  for (const one of found) await plugin.staging.unstage(one);
  assert.deepEqual(
    world.mounts.mounted.map(({ path }) => path),
    ['/root/pods/u1/volumes/kubernetes.io~csi/vol/mount'],
  );
});

test('a driver that needs attaching is called without it on a node without an API server, which is logged once', async () => {
  const world = csiWorld();
  await world.register();
  await setUp(world, persistentSpec());
  await setUp(world, persistentSpec(), { pod: testPod('u2') });
  assert.equal(world.log.lines.filter(({ message }) => message.includes('attached')).length, 1);
  const quiet = csiWorld();
  await quiet.register();
  quiet.setDriver({ attachRequired: false });
  await setUp(quiet, persistentSpec());
  assert.equal(quiet.log.lines.filter(({ message }) => message.includes('attached')).length, 0);
});
