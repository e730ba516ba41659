import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KubeletError } from '../../../../base/errors.ts';
import { podUid } from '../../../model/ids.ts';
import { testPod, volumePath, volumeWorld } from '../testing/volume-world.ts';

const share = { name: 'n', nfs: { server: 'fd00::1', path: '/export', readOnly: true } };

test('an export is mounted by the mount program of its kind, with the options of the volume', async () => {
  const world = volumeWorld();
  world.objects.set('PersistentVolumeClaim', {
    metadata: { name: 'c', namespace: 'default', uid: '' },
    spec: { volumeName: 'pv' },
  });
  world.objects.set('PersistentVolume', {
    metadata: { name: 'pv', namespace: '', uid: '' },
    spec: { nfs: { server: 'nfs.local', path: '/e' }, mountOptions: ['nfsvers=4.2', 'hard'] },
  });
  const volumes = await world.manager.ensure(
    testPod('u1', [share, { name: 'c', persistentVolumeClaim: { claimName: 'c' } }], {
      securityContext: { fsGroup: 1 },
    }),
  );
  assert.deepEqual(
    world.mounts.mounted.map(({ path, fsType, source, options }) => [path, fsType, source, options.words]),
    [
      [volumePath('u1', 'nfs', 'n'), 'nfs', '[fd00::1]:/export', ['ro']],
      [volumePath('u1', 'nfs', 'pv'), 'nfs', 'nfs.local:/e', ['hard', 'nfsvers=4.2']],
    ],
  );
  assert.deepEqual(volumes.get('n'), {
    name: 'n',
    hostPath: volumePath('u1', 'nfs', 'n'),
    readOnly: true,
    selinuxRelabel: false,
  });
  assert.deepEqual(
    world.files.calls.filter((call) => call.startsWith('giveToGroup')),
    [],
  );
});

test('a node without mount.nfs says which package has it', async () => {
  const world = volumeWorld();
  world.mounts.mount = () => Promise.reject(new KubeletError('NotFound', 'mount.nfs is not installed on this node'));
  void world.manager.ensure(testPod('u1', [share])).catch(() => undefined);
  await world.clock.settle();
  assert.equal(
    world.events[0],
    'pod-u1 Warning FailedMount MountVolume.SetUp failed for volume "n" : mount.nfs is not installed on this node: it is in the package nfs-common (Debian, Ubuntu) or nfs-utils (Fedora, RHEL, SUSE, Alpine)',
  );
});

test('a hung server delays only its own pod, which can be removed and added again meanwhile', async () => {
  const world = volumeWorld();
  world.mounts.fail('mount', {
    below: volumePath('u1', 'nfs', 'n'),
    kind: 'Timeout',
    message: 'no answer within 30000 ms',
  });
  const waiting = assert.rejects(world.manager.ensure(testPod('u1', [share])));
  await world.clock.settle();
  await world.manager.ensure(testPod('u2', [share]));
  assert.match(world.events[0] ?? '', /MountVolume.SetUp failed for volume "n" : .*no answer within 30000 ms/);
  await world.manager.tearDown(podUid('u1'));
  await waiting;
  assert.deepEqual(
    world.mounts.mounted.map(({ path }) => path),
    [volumePath('u2', 'nfs', 'n')],
  );
});

test('a mount of an unreachable server is unmounted by force when the pod ends', async () => {
  const world = volumeWorld();
  await world.manager.ensure(testPod('u1', [share]));
  const { unmount } = world.mounts;
  const tries: boolean[] = [];
  world.mounts.unmount = async (path: string, options: { force?: boolean } = {}) => {
    tries.push(options.force === true);
    if (options.force !== true) throw new KubeletError('Timeout', 'no answer');
    return unmount.call(world.mounts, path);
  };
  await world.manager.tearDown(podUid('u1'));
  assert.deepEqual([tries, world.mounts.mounted], [[false, true], []]);
});

test('a restarted agent does not access a dead mount: the pod keeps running and others start', async () => {
  const world = volumeWorld();
  const pod = testPod('u1', [share]);
  await world.manager.ensure(pod);
  world.manager.stop();
  world.files.fail('*', { below: volumePath('u1', 'nfs', 'n'), kind: 'Timeout', message: 'dead' });
  const restarted = world.restart();
  assert.deepEqual([...(await restarted.reconstruct())], ['u1']);
  assert.equal((await restarted.ensure(pod)).size, 1);
  await restarted.ensure(testPod('u2', [{ name: 'e', emptyDir: {} }]));
  assert.deepEqual([world.events, world.mounts.mounted.length], [[], 1]);
});
