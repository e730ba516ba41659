import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Volume } from '../../../../api/core/volume.ts';
import { podUid } from '../../../model/ids.ts';
import { secret, testPod, volumePath, volumeWorld } from '../testing/volume-world.ts';

const DRIVER = '/drivers/example.org~disk/disk';
const flex: Volume = {
  name: 'f',
  flexVolume: {
    driver: 'example.org/disk',
    fsType: 'ext4',
    readOnly: true,
    options: { size: '1' },
    secretRef: { name: 's' },
  },
};
const PATH = volumePath('u1', 'flexvolume', 'f');

/** A node with a driver that mounts; `answers` replaces its responses by command. */
function world(answers: Record<string, object> = {}) {
  const made = volumeWorld();
  made.objects.set('Secret', { ...secret('s', { key: 'word' }), type: 'example.org/disk' });
  made.processes.install(DRIVER, async ({ args }) => {
    const [command = ''] = args;
    if (command === 'mount' && answers['mount'] === undefined)
      made.mounts.seedMount(args[1] ?? '', 'ext4', '/dev/flex');
    if (command === 'unmount' && answers['unmount'] === undefined) await made.mounts.unmount(args[1] ?? '');
    return { stdout: JSON.stringify(answers[command] ?? { status: 'Success', capabilities: { attach: false } }) };
  });
  return made;
}

async function firstEvent(made: ReturnType<typeof world>): Promise<string | undefined> {
  void made.manager.ensure(testPod('u1', [flex])).catch(() => undefined);
  await made.clock.settle();
  return made.events[0]?.replace('pod-u1 Warning FailedMount MountVolume.SetUp failed for volume "f" : ', '');
}

test('a driver reports its capabilities, mounts with all options it needs, and unmounts', async () => {
  const made = world();
  await made.manager.ensure(testPod('u1', [flex], { securityContext: { fsGroup: 7 }, serviceAccountName: 'sa' }));
  const [init, mount] = made.processes.runs;
  assert.deepEqual([init?.args, mount?.args.slice(0, 2)], [['init'], ['mount', PATH]]);
  assert.deepEqual(JSON.parse(mount?.args[2] ?? ''), {
    'kubernetes.io/fsType': 'ext4',
    'kubernetes.io/readwrite': 'ro',
    'kubernetes.io/pvOrVolumeName': 'f',
    'kubernetes.io/pod.name': 'pod-u1',
    'kubernetes.io/pod.namespace': 'default',
    'kubernetes.io/pod.uid': 'u1',
    'kubernetes.io/serviceAccount.name': 'sa',
    'kubernetes.io/mounterArgs.FsGroup': '7',
    'kubernetes.io/secret/key': 'd29yZA==',
    size: '1',
  });
  made.manager.stop();
  await made.restart().tearDown(podUid('u1'));
  assert.deepEqual([made.processes.runs.at(-1)?.args, made.mounts.mounted], [['unmount', PATH], []]);
});

test('the agent unmounts for a driver that does not', async () => {
  const made = world({ unmount: { status: 'Not supported' } });
  await made.manager.ensure(testPod('u1', [flex]));
  await made.manager.tearDown(podUid('u1'));
  assert.deepEqual(made.mounts.mounted, []);
});

test("a driver's message is reported, and so is a driver that is missing or returns invalid output", async () => {
  assert.equal(
    await firstEvent(world({ mount: { status: 'Failure', message: 'no such disk' } })),
    'mount command failed, status: Failure, reason: no such disk',
  );
  const silent = world();
  silent.processes.install(DRIVER, () => ({ exitCode: 1, stderr: 'Traceback' }));
  assert.match(
    (await firstEvent(silent)) ?? '',
    /flexVolume driver example.org\/disk: init: exit status 1, its answer is not JSON/,
  );
  const none = volumeWorld();
  assert.match(
    (await firstEvent(none)) ?? '',
    /no volume plugin matched: there is no flexVolume driver \/drivers\/example.org~disk\/disk$/,
  );
});
