import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorKind } from '../../../base/errors.ts';
import { podUid } from '../../model/ids.ts';
import { configMap, ROOT, secret, testPod, volumePath, volumeWorld } from './testing/volume-world.ts';

const uid = podUid('u1');

test('a pod without volumes is ready at once and touches no file', async () => {
  const { manager, files } = volumeWorld();
  assert.equal((await manager.ensure(testPod('u1', []))).size, 0);
  assert.deepEqual(files.calls, []);
});

test('each kind is ready at its upstream path with its attributes', async () => {
  const world = volumeWorld();
  world.objects.set('ConfigMap', configMap('c', { k: 'v' }));
  world.objects.set('Secret', secret('s', { p: 'w' }));
  world.files.seed({ '/data/f': 'x' });
  const volumes = await world.manager.ensure(
    testPod('u1', [
      { name: 'e', emptyDir: {} },
      { name: 'h', hostPath: { path: '/data', type: 'Directory' } },
      { name: 'c', configMap: { name: 'c' } },
      { name: 's', secret: { secretName: 's' } },
    ]),
  );
  assert.deepEqual(
    [...volumes.values()],
    [
      { name: 'e', hostPath: volumePath('u1', 'empty-dir', 'e'), readOnly: false, selinuxRelabel: true },
      { name: 'h', hostPath: '/data', readOnly: false, selinuxRelabel: false },
      { name: 'c', hostPath: volumePath('u1', 'configmap', 'c'), readOnly: true, selinuxRelabel: true },
      { name: 's', hostPath: volumePath('u1', 'secret', 's'), readOnly: true, selinuxRelabel: true },
    ],
  );
  assert.equal(world.files.peek(`${volumePath('u1', 'configmap', 'c')}/k`), 'v');
  assert.equal(world.files.peek(`${volumePath('u1', 'secret', 's')}/p`), 'w');
  assert.equal((await world.files.lstat(volumePath('u1', 'empty-dir', 'e')))?.mode, 0o777);
  assert.equal((await world.files.lstat(`${ROOT}/pods/u1`))?.mode, 0o750);
  assert.deepEqual(
    world.mounts.mounted.map(({ path, fsType }) => ({ path, fsType })),
    [{ path: volumePath('u1', 'secret', 's'), fsType: 'tmpfs' }],
  );
});

test('requesting mounted volumes again changes nothing on the host', async () => {
  const world = volumeWorld();
  const pod = testPod('u1', [
    { name: 'e', emptyDir: {} },
    { name: 'm', emptyDir: { medium: 'Memory' } },
  ]);
  await world.manager.ensure(pod);
  const before = world.files.calls.length;
  await world.manager.ensure(pod);
  assert.deepEqual([world.files.calls.length, world.mounts.mounted.length], [before, 1]);
});

test('a missing object is an event and a blocker, and the volume is ready the moment it appears', async () => {
  const world = volumeWorld();
  let ready = false;
  const waiting = world.manager
    .ensure(testPod('u1', [{ name: 'x', configMap: { name: 'y' } }]))
    .then(() => (ready = true));
  await world.clock.settle();
  const message = 'MountVolume.SetUp failed for volume "x" : configmap "y" not found';
  assert.deepEqual(world.events, [`pod-u1 Warning FailedMount ${message}`]);
  assert.deepEqual(world.manager.blockers(uid), [
    {
      step: 'volume x',
      cause: message,
      sinceMs: world.clock.nowMs(),
      lastError: message,
      nextTryAtMs: world.clock.nowMs() + 500,
    },
  ]);
  assert.equal(ready, false);
  world.objects.set('ConfigMap', configMap('y', { k: 'v' }));
  world.manager.objectChanged({ kind: 'ConfigMap', namespace: 'default', name: 'y' });
  await waiting;
  assert.deepEqual([world.manager.blockers(uid), world.clock.monotonicMs(), world.clock.armedTimers], [[], 0, 0]);
});

test('a stopping pod keeps its volumes unchanged: an object removed with it is not a failure', async () => {
  const world = volumeWorld();
  world.objects.set('ConfigMap', configMap('c', { k: 'v' }));
  await world.manager.ensure(testPod('u1', [{ name: 'c', configMap: { name: 'c' } }]));
  world.manager.podEnds(uid);
  world.objects.delete('ConfigMap', 'c');
  world.manager.objectChanged({ kind: 'ConfigMap', namespace: 'default', name: 'c' });
  await world.clock.advance(10_000);
  assert.deepEqual([world.events, world.manager.blockers(uid), world.manager.volumesOf(uid).size], [[], [], 1]);
});

test('failures are retried after 500 ms, doubling up to 2 min 2 s', async () => {
  const world = volumeWorld();
  const end = world.files.fillDisk(ROOT);
  const waiting = world.manager.ensure(testPod('u1', [{ name: 'e', emptyDir: {} }]));
  const at: number[] = [];
  for (let tries = 0; tries < 4; tries++) {
    const seen = world.events.length;
    await world.clock.advanceUntil(() => world.events.length > seen, 60_000);
    at.push(world.clock.monotonicMs());
  }
  assert.deepEqual(at, [0, 500, 1500, 3500]);
  assert.match(world.events[0] ?? '', /MountVolume.SetUp failed for volume "e" : .*no space left on device/);
  end();
  await world.clock.advance(4000);
  assert.equal((await waiting).size, 1);
});

test("after 2 min 3 s the wait ends with upstream's words, and the work continues", async () => {
  const world = volumeWorld();
  const pod = testPod('u1', [
    { name: 'e', emptyDir: {} },
    { name: 'x', secret: { secretName: 'none' } },
  ]);
  const waiting = assert.rejects(
    world.manager.ensure(pod),
    (error) =>
      errorKind(error) === 'Timeout' &&
      /^unmounted volumes=\[x\], unattached volumes=\[\], failed to process volumes=\[\]: context deadline exceeded$/.test(
        (error as Error).message,
      ),
  );
  await world.clock.advance(123_000);
  await waiting;
  world.objects.set('Secret', secret('none', {}));
  world.manager.objectChanged({ kind: 'Secret', namespace: 'default', name: 'none' });
  assert.equal((await world.manager.ensure(pod)).size, 2);
});

test('a hung mount of one pod delays no other pod, is reported, and the pod is ready when it recovers', async () => {
  const world = volumeWorld();
  const release = world.mounts.hang('mountTmpfs', `${ROOT}/pods/u1`);
  let first = false;
  const hanging = world.manager
    .ensure(testPod('u1', [{ name: 'm', emptyDir: { medium: 'Memory' } }]))
    .then(() => (first = true));
  await world.manager.ensure(testPod('u2', [{ name: 'm', emptyDir: { medium: 'Memory' } }]));
  await world.clock.advance(31_000);
  assert.equal(first, false);
  assert.deepEqual(world.events, [
    'pod-u1 Warning FailedMount MountVolume.SetUp failed for volume "m" : no answer within 30 s',
  ]);
  assert.equal(world.manager.blockers(uid)[0]?.cause, 'the host does not respond');
  release();
  await hanging;
});

test('a waiting pod that is aborted stops waiting', async () => {
  const world = volumeWorld();
  const stop = new AbortController();
  const waiting = assert.rejects(
    world.manager.ensure(testPod('u1', [{ name: 'x', secret: { secretName: 'none' } }]), stop.signal),
    (error) => errorKind(error) === 'Aborted',
  );
  await world.clock.settle();
  stop.abort();
  await waiting;
});

test('a changed object is visible at once, a removed one leaves the last content in place', async () => {
  const world = volumeWorld();
  world.objects.set('ConfigMap', configMap('c', { k: 'old', gone: 'x' }));
  const path = volumePath('u1', 'configmap', 'c');
  await world.manager.ensure(testPod('u1', [{ name: 'c', configMap: { name: 'c' } }]));
  world.objects.set('ConfigMap', configMap('c', { k: 'new' }));
  world.manager.objectChanged({ kind: 'ConfigMap', namespace: 'default', name: 'c' });
  await world.clock.settle();
  assert.deepEqual([world.files.peek(`${path}/k`), await world.files.lstat(`${path}/gone`)], ['new', undefined]);
  world.objects.delete('ConfigMap', 'c');
  world.manager.objectChanged({ kind: 'ConfigMap', namespace: 'default', name: 'c' });
  await world.clock.settle();
  assert.equal(world.files.peek(`${path}/k`), 'new');
  assert.deepEqual([world.manager.blockers(uid), world.manager.volumesOf(uid).size, world.events.length], [[], 1, 1]);
});

test('a change during set-up leads to one more pass', async () => {
  const world = volumeWorld();
  world.objects.set('Secret', secret('s', { k: 'old' }));
  const release = world.mounts.hang('mountTmpfs', ROOT);
  const waiting = world.manager.ensure(testPod('u1', [{ name: 's', secret: { secretName: 's' } }]));
  await world.clock.settle();
  world.objects.set('Secret', secret('s', { k: 'new' }));
  world.manager.objectChanged({ kind: 'Secret', namespace: 'default', name: 's' });
  release();
  await waiting;
  await world.clock.settle();
  assert.equal(world.files.peek(`${volumePath('u1', 'secret', 's')}/k`), 'new');
});

test("tearing down unmounts, removes all of the pod's folder, and may be repeated", async () => {
  const world = volumeWorld();
  await world.manager.ensure(testPod('u1', [{ name: 'm', emptyDir: { medium: 'Memory' } }]));
  world.files.seed({
    [`${ROOT}/pods/u1/etc-hosts`]: 'x',
    [`${ROOT}/pods/u1/containers/main/abc`]: 'x',
    [`${volumePath('u1', 'empty-dir', 'm')}/data`]: 'x',
  });
  await world.manager.tearDown(uid);
  await world.manager.tearDown(uid);
  assert.deepEqual(
    [world.mounts.mounted, await world.files.list(`${ROOT}/pods`), world.clock.armedTimers],
    [[], [], 0],
  );
});

test('unexpected mounts and parts of volumes are unmounted with the rest; without mounts the table is read once', async () => {
  const world = volumeWorld();
  await world.manager.ensure(testPod('u1', [{ name: 'e', emptyDir: {} }]));
  for (const name of ['elsewhere', 'volume-subpaths/e/main/0']) {
    const path = `${ROOT}/pods/u1/${name}`;
    await world.files.makeDirectory(path, 0o755);
    world.mounts.seedMount(path, 'ext4', '/dev/x');
  }
  await world.manager.tearDown(uid);
  assert.deepEqual([world.mounts.mounted, await world.files.list(`${ROOT}/pods`)], [[], []]);
  await world.manager.ensure(testPod('u1', [{ name: 'e', emptyDir: {} }]));
  let looks = 0;
  const { listBelow } = world.mounts;
  world.mounts.listBelow = (path) => {
    looks++;
    return listBelow.call(world.mounts, path);
  };
  await world.manager.tearDown(uid);
  assert.deepEqual([looks, await world.files.list(`${ROOT}/pods`)], [1, []]);
});

test('a failed unmount keeps the data, and is retried', async () => {
  const world = volumeWorld();
  await world.manager.ensure(testPod('u1', [{ name: 'e', emptyDir: {} }]));
  const inside = `${volumePath('u1', 'empty-dir', 'e')}/nfs`;
  await world.files.makeDirectory(inside, 0o755);
  world.mounts.seedMount(inside, 'nfs4', 'server:/export');
  await world.files.writeFile(`${inside}/precious`, 'data', 0o644);
  world.mounts.fail('unmount', { below: inside, kind: 'Timeout', times: 1 });
  await assert.rejects(world.manager.tearDown(uid), (error) => errorKind(error) === 'Timeout');
  assert.equal(world.files.peek(`${inside}/precious`), 'data');
  await world.manager.tearDown(uid);
  assert.deepEqual(await world.files.list(`${ROOT}/pods`), []);
});

test('a hung set-up delays only its own tear-down, until the limit', async () => {
  const world = volumeWorld();
  const release = world.mounts.hang('mountTmpfs', `${ROOT}/pods/u1`);
  const waiting = assert.rejects(
    world.manager.ensure(testPod('u1', [{ name: 'm', emptyDir: { medium: 'Memory' } }])),
    (error) => errorKind(error) === 'Aborted',
  );
  await world.manager.ensure(testPod('u2', [{ name: 'e', emptyDir: {} }]));
  const tornDown = assert.rejects(world.manager.tearDown(uid), (error) => errorKind(error) === 'Timeout');
  await waiting;
  await world.manager.tearDown(podUid('u2'));
  assert.deepEqual(await world.files.list(`${ROOT}/pods`), ['u1']);
  await world.clock.advance(120_000);
  await tornDown;
  release();
  await world.clock.settle();
  assert.deepEqual([await world.files.list(`${ROOT}/pods`), world.mounts.mounted.length], [[], 0]);
});

test('a restarted agent mounts and writes nothing again', async () => {
  const world = volumeWorld();
  world.objects.set('ConfigMap', configMap('c', { k: 'v', 'b.c': 'w' }));
  world.objects.set('Secret', secret('s', { p: 'w' }));
  const pod = testPod(
    'u1',
    [
      { name: 'e', emptyDir: {} },
      { name: 'm', emptyDir: { medium: 'Memory' } },
      { name: 'c', configMap: { name: 'c' } },
      { name: 's', secret: { secretName: 's' } },
    ],
    { securityContext: { fsGroup: 1000 } },
  );
  const before = [...(await world.manager.ensure(pod))];
  await world.files.writeFile(`${volumePath('u1', 'empty-dir', 'e')}/data`, 'kept', 0o600);
  world.manager.stop();
  world.files.calls.length = 0;
  const restarted = world.restart();
  assert.deepEqual([...(await restarted.reconstruct())], ['u1']);
  assert.deepEqual([...(await restarted.ensure(pod))], before);
  assert.equal(world.mounts.mounted.length, 2);
  assert.deepEqual(
    world.files.calls.filter(
      (call) => /^(write|symlink|rename|remove|chmod|chown)/.test(call) && !call.includes('makeDirectory'),
    ),
    [],
  );
});

test('an agent that starts while the disk gives errors continues, and still mounts nothing twice', async () => {
  const world = volumeWorld();
  const pod = testPod('u1', [{ name: 'm', emptyDir: { medium: 'Memory' } }]);
  const before = [...(await world.manager.ensure(pod))];
  world.manager.stop();
  const lift = world.files.failIo(ROOT);
  const restarted = world.restart();
  assert.deepEqual([...(await restarted.reconstruct())], []);
  assert.deepEqual(world.log.lines.filter(({ level }) => level === 'error').length, 1);
  lift();
  assert.deepEqual([...(await restarted.ensure(pod))], before);
  assert.equal(world.mounts.mounted.length, 1);
});

test('folders of vanished pods are removed, those with a stuck mount are counted and logged once', async () => {
  const world = volumeWorld();
  await world.manager.ensure(testPod('u1', [{ name: 'e', emptyDir: {} }]));
  world.files.seed({
    [`${ROOT}/pods/old1/etc-hosts`]: '',
    [`${ROOT}/pods/old2/volumes/x/y/f`]: '',
    [`${ROOT}/pods/running/etc-hosts`]: '',
  });
  world.mounts.seedMount(`${ROOT}/pods/old2/volumes/x/y`, 'nfs', 'dead:/x');
  world.mounts.fail('unmount', { below: `${ROOT}/pods/old2`, kind: 'Conflict', times: 3 });
  const known = new Set([podUid('running')]);
  assert.equal(await world.manager.cleanupOrphans(known), 1);
  assert.equal(await world.manager.cleanupOrphans(known), 1);
  assert.deepEqual(world.manager.counts(), {
    desired: new Map([['kubernetes.io/empty-dir', 1]]),
    actual: new Map([['kubernetes.io/empty-dir', 1]]),
    reconstructed: 0,
    orphans: { found: 1, left: 1 },
  });
  assert.deepEqual(await world.files.list(`${ROOT}/pods`), ['old2', 'running', 'u1']);
  assert.equal(world.log.lines.filter((line) => line.level === 'warn').length, 1);
  const left: number[] = [];
  for (let pass = 0; pass < 10; pass++) {
    await world.clock.advance(1000);
    left.push(await world.manager.cleanupOrphans(known));
  }
  // The attempts are at 0 s, 1 s and 2 s (500 ms, 1 s back-off), and the fourth succeeds 2 s later.
  assert.deepEqual(left, [1, 1, 1, 0, 0, 0, 0, 0, 0, 0]);
});

test('an orphan that cannot be removed is not retried in every housekeeping run', async () => {
  const world = volumeWorld();
  world.files.seed({ [`${ROOT}/pods/old/volumes/x/y/f`]: '' });
  world.mounts.seedMount(`${ROOT}/pods/old/volumes/x/y`, 'nfs', 'dead:/x');
  let tries = 0;
  const { unmount } = world.mounts;
  world.mounts.unmount = (path) => (tries++, unmount.call(world.mounts, path));
  world.mounts.fail('unmount', { below: `${ROOT}/pods/old`, kind: 'Unavailable' });
  for (let pass = 0; pass < 300; pass++) {
    await world.manager.cleanupOrphans(new Set());
    await world.clock.advance(2000);
  }
  assert.ok(tries > 5 && tries < 15, `${tries} tries in ten minutes`);
});

test('an unsupported kind is reported, and a uid or name that is a path is rejected', async () => {
  const world = volumeWorld();
  void world.manager
    .ensure(testPod('u1', [{ name: 'n', rbd: { monitors: ['m'], image: 'x' } }]))
    .catch(() => undefined);
  await world.clock.settle();
  assert.match(
    world.events[0] ?? '',
    /MountVolume.FindPluginBySpec failed for volume "n" : no volume plugin matched: rbd was removed from Kubernetes/,
  );
  await assert.rejects(
    world.manager.ensure(testPod('../../etc', [{ name: 'e', emptyDir: {} }])),
    (error) => errorKind(error) === 'Invalid',
  );
  await assert.rejects(
    world.manager.ensure(testPod('u3', [{ name: '../x', emptyDir: {} }])),
    (error) => errorKind(error) === 'Invalid',
  );
  await assert.rejects(world.manager.tearDown(podUid('..')), (error) => errorKind(error) === 'Invalid');
});
