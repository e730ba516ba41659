import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csiWorld, onDisk, persistentSpec, setUp, stage, testPod } from './testing/csi-world.ts';

const DEVICES = '/root/plugins/kubernetes.io/csi/volumeDevices';
const LINK = '/root/pods/u1/volumeDevices/kubernetes.io~csi/pv1';
const spec = persistentSpec({ mode: 'Block', csi: { fsType: 'ext4' } });

test('a raw device is staged, published, linked for the pod and mapped by its volume', async () => {
  const world = csiWorld();
  await world.register();
  const ready = await setUp(world, spec);
  assert.deepEqual(ready, { hostPath: LINK, readOnly: false, selinuxRelabel: false, device: true });
  const [staged, published] = [world.driver.stages[0], world.driver.publishes[0]];
  assert.deepEqual(
    [staged?.stagingPath, staged?.capability],
    [`${DEVICES}/staging/pv1`, { accessMode: 'SINGLE_NODE_WRITER', access: { kind: 'block' } }],
  );
  assert.deepEqual(
    [published?.stagingPath, published?.targetPath, published?.capability],
    [`${DEVICES}/staging/pv1`, `${DEVICES}/publish/pv1/u1`, staged?.capability],
  );
  assert.equal(await world.files.readLink(LINK), `${DEVICES}/publish/pv1/u1`);
  assert.deepEqual(
    world.mounts.mounted.map(({ path, source }) => [path, source]),
    [[`${DEVICES}/pv1/dev/u1`, `${DEVICES}/publish/pv1/u1`]],
  );
  const data = JSON.parse(world.files.peek(`${DEVICES}/pv1/data/vol_data.json`) ?? '') as Record<string, string>;
  assert.deepEqual([data['specVolID'], data['volumeHandle'], data['driverName']], ['pv1', 'h1', 'd.example']);
});

test('two pods share a device; it is unpublished for each and unstaged after the last, and nothing stays', async () => {
  const world = csiWorld();
  await world.register();
  const staged = await stage(world, spec);
  assert.ok(staged !== undefined);
  await setUp(world, spec, { staged });
  await setUp(world, spec, { staged, pod: testPod('u2') });
  await world.plugin.tearDown(onDisk(spec));
  assert.deepEqual(
    world.mounts.mounted.map(({ path }) => path),
    [`${DEVICES}/pv1/dev/u2`],
  );
  await world.plugin.tearDown(onDisk(spec, 'u2'));
  await world.plugin.tearDown(onDisk(spec, 'u2'));
  await world.plugin.staging.unstage(staged);
  assert.deepEqual(
    world.driver.calls.filter((call) => /^un/.test(call)),
    [`unpublish ${DEVICES}/publish/pv1/u1`, `unpublish ${DEVICES}/publish/pv1/u2`, `unstage ${DEVICES}/staging/pv1`],
  );
  assert.deepEqual(
    [
      world.mounts.mounted,
      await world.files.list(`${DEVICES}/publish`),
      await world.files.list(`${DEVICES}/staging`),
      await world.files.list(DEVICES),
    ],
    [[], [], [], ['publish', 'staging']],
  );
});

test('a restarted agent sets it up again, finds it staged, and tears it down', async () => {
  const world = csiWorld();
  await world.register();
  await setUp(world, spec);
  const later = world.restart();
  await later.register();
  await setUp({ plugin: later.plugin, files: world.files }, spec);
  assert.equal(world.mounts.mounted.length, 1);
  const found = await later.plugin.staging.findStaged();
  assert.deepEqual(found, [
    {
      key: 'kubernetes.io/csi/d.example^h1',
      path: `${DEVICES}/staging/pv1`,
      context: { mode: 'Block', specName: 'pv1' },
    },
  ]);
  assert.deepEqual(await later.plugin.staging.identify(onDisk(spec)), found[0]);
  await later.plugin.tearDown(onDisk(spec));
  for (const one of found) await later.plugin.staging.unstage(one);
  assert.deepEqual([world.mounts.mounted, await later.plugin.staging.findStaged()], [[], []]);
});

test('a publish that timed out is undone, though nothing shows it; one that never was is not', async () => {
  const world = csiWorld();
  await world.register();
  const staged = await stage(world, spec);
  await world.plugin.tearDown(onDisk(spec));
  assert.deepEqual(
    world.driver.calls.filter((call) => call.startsWith('unpublish')),
    [],
  );
  world.driver.fail('publish', { code: 'DeadlineExceeded', times: 1 });
  await assert.rejects(setUp(world, spec, { staged }), { kind: 'Timeout' });
  await world.plugin.tearDown(onDisk(spec));
  assert.deepEqual(
    world.driver.calls.filter((call) => call.startsWith('unpublish')),
    [`unpublish ${DEVICES}/publish/pv1/u1`],
  );
});

test("until the driver has unpublished it, the pod's folder shows the device, so that it is retried", async () => {
  const world = csiWorld();
  await world.register();
  const staged = await stage(world, spec);
  world.driver.fail('publish', { code: 'DeadlineExceeded', times: 1, after: true });
  await assert.rejects(setUp(world, spec, { staged }));
  assert.equal((await world.files.lstat(LINK))?.type, 'symlink');
  world.driver.fail('unpublish', { code: 'Internal', times: 1 });
  await assert.rejects(world.plugin.tearDown(onDisk(spec)));
  assert.equal((await world.files.lstat(LINK))?.type, 'symlink');
  await world.plugin.tearDown(onDisk(spec));
  assert.deepEqual([await world.files.lstat(LINK), world.driver.published.size], [undefined, 0]);
});

test('a driver that is not registered is named for both steps, and keeps no pod that never had the device', async () => {
  const world = csiWorld();
  const missing = 'driver name d.example not found in the list of registered CSI drivers';
  await assert.rejects(stage(world, spec), {
    message: `kubernetes.io/csi: blockMapper.SetUpDevice failed to get CSI client: ${missing}`,
  });
  const planned = await world.plugin.staging.plan(spec, testPod('u1'));
  await assert.rejects(setUp(world, spec, { staged: planned }), {
    message: `kubernetes.io/csi: blockMapper.MapPodDevice failed to get CSI client: ${missing}`,
  });
  await world.plugin.tearDown(onDisk(spec));
  assert.ok(planned !== undefined);
  await world.plugin.staging.unstage(planned);
});

test('a device that is staged in vain is cleaned up', async () => {
  const world = csiWorld();
  await world.register();
  world.driver.fail('stage', { code: 'Internal', times: 1 });
  await assert.rejects(stage(world, spec));
  assert.deepEqual(await world.plugin.staging.findStaged(), []);
});
