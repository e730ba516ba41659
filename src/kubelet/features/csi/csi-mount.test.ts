import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attachmentName } from '../../../api/attachable-volume.ts';
import { inlineHandle } from './csi-names.ts';
import { csiWorld, inlineSpec, onDisk, persistentSpec, setUp, testPod } from './testing/csi-world.ts';

const HERE = '/root/pods/u1/volumes/kubernetes.io~csi';

test('an inline volume is published with its own handle, and only where the driver allows it', async () => {
  const world = csiWorld();
  await world.register();
  const spec = inlineSpec({
    fsType: 'xfs',
    readOnly: true,
    volumeAttributes: { size: '1' },
    nodePublishSecretRef: { name: 's' },
  });
  world.setSecret('s', { password: 'geheim' });
  await assert.rejects(setUp(world, spec), {
    message:
      'kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode: volume mode "Ephemeral" not supported by driver d.example (no CSIDriver object)',
  });
  world.setDriver({});
  await assert.rejects(setUp(world, spec), { message: /\(only supports \["Persistent"\]\)$/ });
  world.setDriver({ volumeLifecycleModes: ['Persistent', 'Ephemeral'], podInfoOnMount: true });
  assert.deepEqual(await setUp(world, spec), { hostPath: `${HERE}/vol/mount`, readOnly: true, selinuxRelabel: true });
  assert.deepEqual(world.driver.publishes, [
    {
      volumeId: inlineHandle('u1', 'vol'),
      publishContext: {},
      stagingPath: '',
      targetPath: `${HERE}/vol/mount`,
      capability: {
        accessMode: 'SINGLE_NODE_WRITER',
        access: { kind: 'mount', fsType: 'xfs', mountFlags: [], mountGroup: '' },
      },
      readOnly: true,
      secrets: { password: 'geheim' },
      volumeContext: {
        size: '1',
        'csi.storage.k8s.io/pod.name': 'pod-u1',
        'csi.storage.k8s.io/pod.namespace': 'ns',
        'csi.storage.k8s.io/pod.uid': 'u1',
        'csi.storage.k8s.io/serviceAccount.name': 'robot',
        'csi.storage.k8s.io/ephemeral': 'true',
      },
    },
  ]);
  assert.deepEqual(JSON.parse(world.files.peek(`${HERE}/vol/vol_data.json`) ?? ''), {
    specVolID: 'vol',
    volumeHandle: inlineHandle('u1', 'vol'),
    driverName: 'd.example',
    nodeName: 'node1',
    volumeLifecycleMode: 'Ephemeral',
    attachmentID: attachmentName(inlineHandle('u1', 'vol'), 'd.example', 'node1'),
  });
  assert.equal(await world.plugin.staging.plan(spec, testPod('u1')), undefined);
});

test('tearing an inline volume down unpublishes it and leaves nothing', async () => {
  const world = csiWorld();
  await world.register();
  world.setDriver({ volumeLifecycleModes: ['Ephemeral'] });
  const spec = inlineSpec();
  await setUp(world, spec);
  world.driver.careless = true;
  await world.plugin.tearDown(onDisk(spec));
  assert.equal(world.driver.calls.at(-1), `unpublish ${HERE}/vol/mount`);
  assert.deepEqual([world.mounts.mounted, await world.files.list(HERE)], [[], []]);
  await world.plugin.tearDown(onDisk(spec));
});

test('a claimed volume is published from where it is staged, with its access mode, options and secrets', async () => {
  const world = csiWorld();
  await world.register();
  world.driver.capabilities = ['STAGE_UNSTAGE_VOLUME', 'SINGLE_NODE_MULTI_WRITER'];
  world.setSecret('stage', { a: '1' });
  world.setSecret('publish', { b: '2' });
  const spec = persistentSpec({
    pv: { accessModes: ['ReadWriteOncePod'], mountOptions: ['noatime'] },
    csi: {
      fsType: 'ext4',
      volumeAttributes: { k: 'v' },
      nodeStageSecretRef: { name: 'stage', namespace: 'ns' },
      nodePublishSecretRef: { name: 'publish', namespace: 'ns' },
    },
  });
  const ready = await setUp(world, spec, { fsGroup: 42 });
  const staging = world.driver.stages[0]?.stagingPath ?? '';
  assert.match(staging, /^\/root\/plugins\/kubernetes\.io\/csi\/d\.example\/[0-9a-f]{64}\/globalmount$/);
  const capability = {
    accessMode: 'SINGLE_NODE_SINGLE_WRITER',
    access: { kind: 'mount', fsType: 'ext4', mountFlags: ['noatime'], mountGroup: '' },
  };
  assert.deepEqual(world.driver.stages, [
    {
      volumeId: 'h1',
      publishContext: {},
      stagingPath: staging,
      capability,
      secrets: { a: '1' },
      volumeContext: { k: 'v' },
    },
  ]);
  const [published] = world.driver.publishes;
  assert.deepEqual(
    [published?.stagingPath, published?.capability, published?.secrets, published?.volumeContext],
    [staging, capability, { b: '2' }, { k: 'v' }],
  );
  assert.deepEqual(ready, { hostPath: `${HERE}/pv1/mount`, readOnly: false, selinuxRelabel: true, ownership: 'apply' });
  assert.deepEqual(JSON.parse(world.files.peek(staging.replace('globalmount', 'vol_data.json')) ?? ''), {
    volumeHandle: 'h1',
    driverName: 'd.example',
  });
});

test('a missing or non-text secret is reported without its content', async () => {
  const world = csiWorld();
  await world.register();
  const spec = persistentSpec({ csi: { nodeStageSecretRef: { name: 'x', namespace: 'ns' } } });
  await assert.rejects(setUp(world, spec), {
    message:
      'fetching NodeStageSecretRef ns/x failed: kubernetes.io/csi: failed to find the secret x in the namespace ns with error: secrets "x" not found',
  });
  world.setObject('Secret', {
    metadata: { name: 'x', namespace: 'ns', uid: '' },
    data: { k: Buffer.from([0xff, 0xfe]).toString('base64') },
  });
  await assert.rejects(setUp(world, spec), {
    message: 'fetching NodeStageSecretRef ns/x failed: key "k" is not UTF-8 text, which is all that CSI can carry',
  });
  assert.deepEqual(world.driver.stages, []);
});

test('a driver that applies the group gets it; then, and by its policy, the agent does not', async () => {
  const cases: {
    capabilities?: 'VOLUME_MOUNT_GROUP';
    policy?: 'File' | 'None' | 'ReadWriteOnceWithFSType';
    fsType?: string;
    modes?: 'ReadWriteMany';
    readOnly?: boolean;
    applies: boolean;
  }[] = [
    { fsType: 'ext4', applies: true },
    { applies: false },
    { fsType: 'ext4', modes: 'ReadWriteMany', applies: false },
    { fsType: 'ext4', policy: 'None', applies: false },
    { policy: 'File', modes: 'ReadWriteMany', applies: true },
    { policy: 'File', readOnly: true, applies: false },
    { policy: 'File', capabilities: 'VOLUME_MOUNT_GROUP', applies: false },
  ];
  for (const one of cases) {
    const world = csiWorld();
    await world.register();
    world.driver.capabilities = ['STAGE_UNSTAGE_VOLUME', ...(one.capabilities === undefined ? [] : [one.capabilities])];
    if (one.policy !== undefined) world.setDriver({ fsGroupPolicy: one.policy });
    const spec = persistentSpec({
      pv: { accessModes: [one.modes ?? 'ReadWriteOnce'] },
      csi: { fsType: one.fsType ?? '' },
      readOnly: one.readOnly ?? false,
    });
    const ready = await setUp(world, spec, { fsGroup: 42 });
    assert.equal(ready.ownership === 'apply', one.applies, JSON.stringify(one));
    const mountGroups = [world.driver.stages[0], world.driver.publishes[0]].map((request) =>
      request?.capability.access.kind === 'mount' ? request.capability.access.mountGroup : undefined,
    );
    assert.deepEqual(mountGroups, one.capabilities === undefined ? ['', ''] : ['42', '42']);
  }
});

test('tokens go into the context, or into the secrets where the driver wants them there', async () => {
  for (const inSecrets of [false, true]) {
    const world = csiWorld();
    await world.register();
    world.setDriver({
      volumeLifecycleModes: ['Ephemeral'],
      tokenRequests: [{ audience: 'vault', expirationSeconds: 600 }, { audience: '' }],
      serviceAccountTokenInSecrets: inSecrets,
    });
    await setUp(world, inlineSpec());
    const [published] = world.driver.publishes;
    const key = 'csi.storage.k8s.io/serviceAccount.tokens';
    assert.deepEqual(JSON.parse((inSecrets ? published?.secrets : published?.volumeContext)?.[key] ?? ''), {
      vault: { token: 'token-1', expirationTimestamp: '2026-01-01T02:00:00Z' },
      '': { token: 'token-2', expirationTimestamp: '2026-01-01T02:00:00Z' },
    });
    assert.equal((inSecrets ? published?.volumeContext : published?.secrets)?.[key], undefined);
    assert.deepEqual(world.orders, [
      {
        namespace: 'ns',
        serviceAccount: 'robot',
        audiences: ['vault'],
        expirationSeconds: 600,
        pod: { name: 'pod-u1', uid: 'u1' },
      },
      {
        namespace: 'ns',
        serviceAccount: 'robot',
        audiences: [],
        expirationSeconds: 3600,
        pod: { name: 'pod-u1', uid: 'u1' },
      },
    ]);
  }
});

test('a volume in use is published again only where the driver requires it, and a failure then costs nothing', async () => {
  const world = csiWorld();
  await world.register();
  const modes = { volumeLifecycleModes: ['Ephemeral' as const] };
  world.setDriver(modes);
  const spec = inlineSpec();
  await setUp(world, spec);
  assert.equal((await setUp(world, spec, { again: true })).againInMs, undefined);
  assert.equal(world.driver.publishes.length, 1);
  world.setDriver({ ...modes, requiresRepublish: true });
  assert.equal((await setUp(world, spec, { again: true })).againInMs, 60_000);
  assert.equal(world.driver.publishes.length, 2);
  world.driver.fail('publish', { code: 'Internal', times: 1 });
  await assert.rejects(setUp(world, spec, { again: true }));
  assert.equal(world.mounts.mounted.length, 1);
  assert.notEqual(world.files.peek(`${HERE}/vol/vol_data.json`), undefined);
});

test('a publish that failed permanently leaves nothing; one of unknown outcome keeps the data to undo it', async () => {
  const world = csiWorld();
  await world.register();
  world.setDriver({ volumeLifecycleModes: ['Ephemeral'] });
  const spec = inlineSpec();
  world.driver.fail('publish', { code: 'InvalidArgument', message: 'no', times: 1 });
  await assert.rejects(setUp(world, spec), { kind: 'Invalid', message: 'rpc error: code = InvalidArgument desc = no' });
  assert.deepEqual(await world.files.list(HERE), []);
  for (const code of ['DeadlineExceeded', 'Unavailable', 'Aborted', 'ResourceExhausted', 'Canceled'] as const) {
    world.driver.fail('publish', { code, times: 1, after: true });
    await assert.rejects(setUp(world, spec));
    assert.notEqual(world.files.peek(`${HERE}/vol/vol_data.json`), undefined, code);
  }
  await setUp(world, spec);
  world.driver.fail('publish', { code: 'DeadlineExceeded', times: 1, after: true });
  await world.plugin.tearDown(onDisk(spec));
  assert.deepEqual([world.mounts.mounted, await world.files.list(HERE)], [[], []]);
});

test("a driver that is not registered is waited for in upstream's words, at both ends", async () => {
  const world = csiWorld();
  const missing = 'driver name d.example not found in the list of registered CSI drivers';
  await assert.rejects(setUp(world, inlineSpec()), {
    kind: 'Unavailable',
    message: `kubernetes.io/csi: mounter.SetUpAt failed to get CSI client: ${missing}`,
  });
  await assert.rejects(setUp(world, persistentSpec()), {
    kind: 'Unavailable',
    message: `kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient: ${missing}`,
  });
  // The driver was never called, so nothing has to be undone.
  await world.plugin.tearDown(onDisk(inlineSpec()));
  await world.register();
  await setUp(world, persistentSpec());
  const later = world.restart();
  const inVain = later.plugin.tearDown(onDisk(persistentSpec()));
  const refused = assert.rejects(inVain, {
    message: `kubernetes.io/csi: Unmounter.TearDownAt failed to get CSI client: ${missing}`,
  });
  await world.clock.advance(5_000);
  await refused;
  // One that registers a moment later, as after a restart of the agent, is not too late.
  const tornDown = later.plugin.tearDown(onDisk(persistentSpec()));
  await world.clock.advance(4_000);
  await later.register();
  await tornDown;
});

test('the calls of one operation share two minutes', async () => {
  const world = csiWorld();
  await world.register();
  world.setDriver({ volumeLifecycleModes: ['Ephemeral'] });
  const limits: number[] = [];
  const { publish, getCapabilities } = world.driver;
  world.driver.getCapabilities = async (limitMs) => {
    limits.push(limitMs);
    await world.clock.advance(30_000);
    return getCapabilities(limitMs);
  };
  world.driver.publish = (request, limitMs) => {
    limits.push(limitMs);
    return publish(request, limitMs);
  };
  await setUp(world, inlineSpec());
  assert.deepEqual(limits, [120_000, 90_000]);
});

test('a volume without its data file is only unmounted, and the log reports it', async () => {
  const world = csiWorld();
  await world.register();
  world.setDriver({ volumeLifecycleModes: ['Ephemeral'] });
  await setUp(world, inlineSpec());
  await world.files.writeFile(`${HERE}/vol/vol_data.json`, '{"half":', 0o644);
  await world.plugin.tearDown(onDisk(inlineSpec()));
  assert.equal(
    world.log.lines.at(-1)?.message,
    'a CSI volume has lost its data file; it is unmounted without a call to the driver',
  );
});

test('the usage of a volume comes from its driver, and is measured elsewhere where it reports nothing', async () => {
  const world = csiWorld();
  await world.register();
  const spec = persistentSpec();
  await setUp(world, spec);
  assert.equal(await world.plugin.usage(onDisk(spec)), undefined);
  world.driver.capabilities = ['STAGE_UNSTAGE_VOLUME', 'GET_VOLUME_STATS'];
  assert.equal(await world.plugin.usage(onDisk(spec)), undefined);
  world.driver.statsAnswer = {
    usage: [
      { unit: 'BYTES', total: 10, used: 4, available: 6 },
      { unit: 'INODES', total: 5, used: 2, available: 3 },
    ],
    condition: undefined,
  };
  assert.deepEqual(await world.plugin.usage(onDisk(spec)), {
    capacityBytes: 10,
    usedBytes: 4,
    availableBytes: 6,
    inodes: 5,
    inodesUsed: 2,
    inodesFree: 3,
  });
  assert.equal(world.driver.calls.at(-1), `stats ${HERE}/pv1/mount`);
});

test("a volume follows its driver's object and its secrets", () => {
  const { plugin } = csiWorld();
  const spec = persistentSpec({ csi: { nodeStageSecretRef: { name: 's', namespace: 'x' } } });
  assert.deepEqual(plugin.objectsOf(spec, testPod('u1')), [
    { kind: 'CSIDriver', namespace: '', name: 'd.example' },
    { kind: 'Secret', namespace: 'x', name: 's' },
  ]);
});
