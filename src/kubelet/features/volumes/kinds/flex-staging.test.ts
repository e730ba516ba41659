import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Volume } from '../../../../api/core/volume.ts';
import { podUid } from '../../../model/ids.ts';
import { testPod, volumePath, volumeWorld } from '../testing/volume-world.ts';

const DRIVER = '/drivers/example.org~disk/disk';
const MOUNT = '/var/lib/kubelet/plugins/kubernetes.io/flexvolume/example.org/disk/mounts/f';
const flex: Volume = { name: 'f', flexVolume: { driver: 'example.org/disk', options: { size: '1' } } };
const NOT_SUPPORTED = { status: 'Not supported' };

/** A node with a driver that attaches, as a program with one disk. `answers` replaces its responses by command. */
function world(answers: Record<string, object> = {}) {
  const made = volumeWorld();
  const disk = { attached: false };
  made.processes.install(DRIVER, async ({ args }) => {
    const [command = '', target = ''] = args;
    const given = answers[command];
    if (given === undefined && command === 'attach') disk.attached = true;
    if (given === undefined && command === 'detach') disk.attached = false;
    if (given === undefined && (command === 'mountdevice' || command === 'mount'))
      made.mounts.seedMount(target, 'ext4', '/dev/flex');
    if (given === undefined && (command === 'unmountdevice' || command === 'unmount'))
      await made.mounts.unmount(target);
    const own: Record<string, object> = {
      attach: { device: '/dev/flex' },
      waitforattach: { device: '/dev/flex' },
      isattached: { attached: disk.attached },
      getvolumename: NOT_SUPPORTED,
    };
    return { stdout: JSON.stringify({ status: 'Success', ...own[command], ...given }) };
  });
  const calls = (): string[] =>
    made.processes.runs.map(({ args }) => args.map((arg) => (arg.startsWith('{') ? 'JSON' : arg)).join(' '));
  return { ...made, calls, disk };
}

test('a driver attaches and mounts a disk once for two pods, and undoes both after the last', async () => {
  const { manager, clock, calls, mounts, disk } = world();
  for (const uid of ['u1', 'u2']) await manager.ensure(testPod(uid, [flex]));
  const [one, two] = ['u1', 'u2'].map((uid) => volumePath(uid, 'flexvolume', 'f'));
  const staging = ['isattached JSON node-1', 'attach JSON node-1', 'waitforattach /dev/flex JSON'];
  assert.deepEqual(
    calls().filter((call) => call !== 'getvolumename JSON'),
    ['init', ...staging, `mountdevice ${MOUNT} /dev/flex JSON`, `mount ${one} JSON`, `mount ${two} JSON`],
  );
  await manager.tearDown(podUid('u1'));
  assert.equal(calls().at(-1), `unmount ${one}`);
  await manager.tearDown(podUid('u2'));
  // Node-wide state is removed after the pod.
  await clock.settle();
  assert.deepEqual(calls().slice(-3), [`unmount ${two}`, `unmountdevice ${MOUNT}`, 'detach f node-1']);
  assert.deepEqual([mounts.mounted, disk.attached], [[], false]);
});

test('node-wide calls get the options of the volume and nothing of a pod', async () => {
  const { manager, processes } = world();
  await manager.ensure(testPod('u1', [flex]));
  const attach = processes.runs.find(({ args }) => args[0] === 'attach');
  assert.deepEqual(JSON.parse(attach?.args[1] ?? ''), {
    'kubernetes.io/fsType': '',
    'kubernetes.io/readwrite': 'rw',
    'kubernetes.io/pvOrVolumeName': 'f',
    size: '1',
  });
});

test('a restarted agent continues the work of the previous one, and undoes all of it', async () => {
  const made = world();
  await made.manager.ensure(testPod('u1', [flex]));
  made.manager.stop();
  const later = made.restart();
  await later.tearDown(podUid('u1'));
  await later.cleanupOrphans(new Set());
  await made.clock.advance(60_000);
  assert.deepEqual([made.mounts.mounted, made.disk.attached], [[], false]);
});

test('a disk that another program attached is neither attached nor detached', async () => {
  const made = world({ isattached: { attached: true } });
  await made.manager.ensure(testPod('u1', [flex]));
  await made.manager.tearDown(podUid('u1'));
  assert.ok(!made.calls().some((call) => /^(attach|detach) /.test(call)), made.calls().join('\n'));
});

test('calls that a driver leaves to the agent: the device is mounted, bound into the pod and unmounted', async () => {
  const made = world(
    Object.fromEntries(['mountdevice', 'unmountdevice', 'mount', 'unmount'].map((name) => [name, NOT_SUPPORTED])),
  );
  made.processes.install('blkid', () => ({ stdout: 'TYPE=ext4\n' }));
  made.processes.install('fsck', () => ({}));
  await made.manager.ensure(testPod('u1', [flex]));
  const own = volumePath('u1', 'flexvolume', 'f');
  assert.deepEqual(made.mounts.mounted.map(({ path }) => path).toSorted(), [MOUNT, own].toSorted());
  await made.manager.tearDown(podUid('u1'));
  await made.clock.settle();
  assert.deepEqual([made.mounts.mounted, made.disk.attached], [[], false]);
});

test('a name of a driver’s own is used, and one that leaves its folder is refused', async () => {
  const named = world({ getvolumename: { status: 'Success', volumeName: 'disk-7' } });
  await named.manager.ensure(testPod('u1', [flex]));
  assert.ok(named.calls().some((call) => call.startsWith('mountdevice ') && call.includes('/mounts/disk-7 ')));
  const wrong = world({ getvolumename: { status: 'Success', volumeName: '../../x' } });
  void wrong.manager.ensure(testPod('u1', [flex])).catch(() => undefined);
  await wrong.clock.settle();
  assert.match(wrong.events[0] ?? '', /is not a valid name of a volume/);
});

test('a volume that is still mounted after a reported unmount is neither removed nor detached', async () => {
  const made = world({ unmountdevice: { status: 'Success' } });
  await made.manager.ensure(testPod('u1', [flex]));
  await made.manager.tearDown(podUid('u1'));
  await made.clock.settle();
  assert.deepEqual(
    made.mounts.mounted.map(({ path }) => path),
    [MOUNT],
  );
  assert.equal(made.disk.attached, true);
});
