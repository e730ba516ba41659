import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolumeSpec } from '../../../../api/core/persistent-volume.ts';
import type { PodSpec } from '../../../../api/core/pod-spec.ts';
import { podUid } from '../../../model/ids.ts';
import type { FakeProgram } from '../../../ports/testing/fake-processes.ts';
import { ROOT, testPod, volumeWorld } from '../testing/volume-world.ts';

const STAGED = `${ROOT}/plugins/kubernetes.io/local-volume/mounts/pv`;

/** A node with a folder /data, a disk /dev/sdx and a claim for what `spec` says. */
function world(spec: Partial<PersistentVolumeSpec>, programs: Record<string, FakeProgram> = {}) {
  const made = volumeWorld();
  made.files.seed({ '/data/file': 'x' });
  made.files.seed({ '/dev/sdx': 'block' }, true);
  for (const [name, behave] of Object.entries(programs)) made.processes.install(name, behave);
  made.objects.set('PersistentVolumeClaim', {
    metadata: { name: 'c', namespace: 'default', uid: '' },
    spec: { volumeName: 'pv' },
  });
  made.objects.set('PersistentVolume', { metadata: { name: 'pv', namespace: '', uid: '' }, spec });
  return made;
}

const claimant = (uid: string, spec: Partial<PodSpec> = {}, readOnly = false) =>
  testPod(uid, [{ name: 'v', persistentVolumeClaim: { claimName: 'c', readOnly } }], spec);
const empty: FakeProgram = () => ({ exitCode: 2 });
const holds =
  (text: string): FakeProgram =>
  () => ({ stdout: `DEVNAME=/dev/sdx\n${text}\n` });

async function firstEvent(made: ReturnType<typeof world>, readOnly = false): Promise<string | undefined> {
  void made.manager.ensure(claimant('u1', {}, readOnly)).catch(() => undefined);
  await made.clock.settle();
  return made.events[0]?.replace('pod-u1 Warning FailedMount MountVolume.MountDevice failed for volume "pv" : ', '');
}

test('a local folder is bound for each pod, with its options, and is unchanged when the pod goes', async () => {
  const made = world({ local: { path: '/data' }, mountOptions: ['noatime'] });
  const volumes = await made.manager.ensure(claimant('u1', {}, true));
  const path = `${ROOT}/pods/u1/volumes/kubernetes.io~local-volume/pv`;
  assert.deepEqual(volumes.get('v'), { name: 'v', hostPath: path, readOnly: true, selinuxRelabel: true });
  assert.deepEqual(
    made.mounts.mounted.map((mount) => [mount.path, mount.source, mount.options.words]),
    [[path, '/data', ['bind', 'ro', 'noatime']]],
  );
  await made.manager.tearDown(podUid('u1'));
  assert.deepEqual([made.mounts.mounted, made.files.peek('/data/file')], [[], 'x']);
});

test('an empty disk is formatted, any other is checked, and each is mounted once for all pods', async () => {
  const blank = world({ local: { path: '/dev/sdx' } }, { blkid: empty, 'mkfs.ext4': () => ({}) });
  await Promise.all([blank.manager.ensure(claimant('u1')), blank.manager.ensure(claimant('u2'))]);
  assert.deepEqual(
    blank.processes.runs.map(({ program, args }) => [program, ...args].join(' ')),
    ['blkid -p -s TYPE -s PTTYPE -o export /dev/sdx', 'mkfs.ext4 -F -m0 /dev/sdx'],
  );
  assert.deepEqual(
    blank.mounts.mounted
      .filter((mount) => mount.path === STAGED)
      .map(({ source, fsType, options }) => [source, fsType, options.words]),
    [['/dev/sdx', 'ext4', ['defaults']]],
  );
  const used = world(
    { local: { path: '/dev/sdx', fsType: 'xfs' } },
    { blkid: holds('TYPE=xfs'), fsck: () => ({ exitCode: 1 }) },
  );
  await used.manager.ensure(claimant('u1'));
  assert.deepEqual(
    used.processes.runs.map(({ program }) => program),
    ['blkid', 'fsck'],
  );
});

test('a disk with data is never formatted, and its problem is reported', async () => {
  const local = { path: '/dev/sdx' };
  const parts = world({ local }, { blkid: holds('PTTYPE=dos') });
  await parts.manager.ensure(claimant('u1'));
  assert.deepEqual(
    parts.processes.runs.map(({ program }) => program),
    ['blkid'],
  );
  const broken = world(
    { local },
    { blkid: holds('TYPE=ext4'), fsck: () => ({ exitCode: 4, stdout: 'UNEXPECTED INCONSISTENCY' }) },
  );
  assert.equal(
    await firstEvent(broken),
    `local: failed to mount device /dev/sdx at ${STAGED} (fstype: ext4), error 'fsck' found errors on device /dev/sdx but could not correct them: UNEXPECTED INCONSISTENCY`,
  );
  const blank = world({ local }, { blkid: empty });
  assert.equal(
    await firstEvent(blank, true),
    `local: failed to mount device /dev/sdx at ${STAGED} (fstype: ext4), error cannot mount unformatted disk /dev/sdx as we are manipulating it in read-only mode`,
  );
  const unreadable = world({ local }, { blkid: () => ({ exitCode: 8, stderr: 'I/O error' }) });
  assert.match(
    (await firstEvent(unreadable)) ?? '',
    /failed to get disk format of disk \/dev\/sdx: exit status 8: I\/O error$/,
  );
});

test('a node without the mkfs program names the package that has it', async () => {
  const without = (fsType: string): Promise<string | undefined> =>
    firstEvent(world({ local: { path: '/dev/sdx', fsType } }, { blkid: empty }));
  assert.match(
    (await without('xfs')) ?? '',
    /error format of disk "\/dev\/sdx" failed: type:\("xfs"\) errcode:\(executable file not found in \$PATH\): mkfs.xfs is not installed on this node: it is in the package xfsprogs$/,
  );
  assert.match((await without('odd')) ?? '', /mkfs.odd is not installed on this node$/);
});

test('a path that is missing, or neither folder nor disk, is rejected', async () => {
  const at = 'pod-u1 Warning FailedMount MountVolume.NewMounter initialization failed for volume "pv" : ';
  assert.equal(await firstEvent(world({ local: { path: '/none' } })), `${at}path "/none" does not exist`);
  assert.equal(
    await firstEvent(world({ local: { path: '/data/file' } })),
    `${at}only directory and block device are supported`,
  );
});

test('a raw device is linked for the pod, reported as an event, and the link is removed with the pod', async () => {
  const made = world({ local: { path: '/dev/sdx' }, volumeMode: 'Block' });
  const device = {
    containers: [{ name: 'main', image: 'x', volumeDevices: [{ name: 'v', devicePath: '/dev/data' }] }],
  };
  const volumes = await made.manager.ensure(claimant('u1', device));
  const link = `${ROOT}/pods/u1/volumeDevices/kubernetes.io~local-volume/pv`;
  assert.deepEqual(volumes.get('v'), {
    name: 'v',
    hostPath: link,
    readOnly: false,
    selinuxRelabel: false,
    device: true,
  });
  assert.deepEqual(
    [await made.files.readLink(link), made.events],
    [
      '/dev/sdx',
      [
        `pod-u1 Normal SuccessfulMountVolume MapVolume.MapPodDevice succeeded for volume "pv" volumeMapPath "${ROOT}/pods/u1/volumeDevices/kubernetes.io~local-volume"`,
      ],
    ],
  );
  await made.manager.tearDown(podUid('u1'));
  assert.deepEqual([await made.files.list(`${ROOT}/pods`), (await made.files.lstat('/dev/sdx'))?.type], [[], 'block']);
  const folder = world({ local: { path: '/data' }, volumeMode: 'Block' });
  void folder.manager.ensure(claimant('u1', device)).catch(() => undefined);
  await folder.clock.settle();
  assert.deepEqual(folder.events, [
    'pod-u1 Warning FailedMapVolume MapVolume.SetUpDevice failed for volume "pv" : path "/data" is not a block device, as volumeMode Block needs',
  ]);
});

test("the first pod's fsGroup stays, and a second pod with another one gets a warning", async () => {
  const made = world({ local: { path: '/data' } });
  await made.manager.ensure(claimant('u1', { securityContext: { fsGroup: 1000 } }));
  await made.manager.ensure(claimant('u2', { securityContext: { fsGroup: 2000 } }));
  assert.deepEqual(
    [(await made.files.stat('/data'))?.gid, made.events],
    [
      1000,
      [
        'pod-u2 Warning AlreadyMountedVolume The requested fsGroup is 2000, but the volume pv has GID 1000. The volume may not be shareable.',
      ],
    ],
  );
});

test('a claim that a pod uses in two volumes is mounted once', async () => {
  const made = world({ local: { path: '/data' } });
  const both = testPod(
    'u1',
    ['v', 'w'].map((name) => ({ name, persistentVolumeClaim: { claimName: 'c' } })),
  );
  const volumes = await made.manager.ensure(both);
  assert.deepEqual([volumes.get('v')?.hostPath === volumes.get('w')?.hostPath, made.mounts.mounted.length], [true, 1]);
});

test('after a reboot, with folders and no mounts, everything is mounted again', async () => {
  const made = world({ local: { path: '/dev/sdx' } }, { blkid: holds('TYPE=ext4'), fsck: () => ({}) });
  const pod = testPod('u1', [
    { name: 'v', persistentVolumeClaim: { claimName: 'c' } },
    { name: 'm', emptyDir: { medium: 'Memory' } },
  ]);
  await made.manager.ensure(pod);
  made.manager.stop();
  for (const { path } of [...made.mounts.mounted].reverse()) await made.mounts.unmount(path);
  const rebooted = made.restart();
  await rebooted.reconstruct();
  await rebooted.cleanupOrphans({ has: () => true });
  await rebooted.ensure(pod);
  assert.equal(made.mounts.mounted.length, 3);
});
