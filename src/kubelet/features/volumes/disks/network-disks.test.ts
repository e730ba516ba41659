import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Volume } from '../../../../api/core/volume.ts';
import { podUid } from '../../../model/ids.ts';
import type { FakeProgram } from '../../../ports/testing/fake-processes.ts';
import { ROOT, secret, testPod, volumePath, volumeWorld } from '../testing/volume-world.ts';

const IQN = 'iqn.2026-01.org.example:disk';
const disk = (more: object = {}): Volume => ({
  name: 'd',
  iscsi: { targetPortal: '10.0.0.1', iqn: IQN, lun: 2, ...more },
});
const STAGED = `${ROOT}/plugins/kubernetes.io/iscsi/iface-default/10.0.0.1:3260-${IQN}-lun-2`;
const SESSION = '/sys/class/iscsi_host/host3/device/session1';

type Fixture = ReturnType<typeof volumeWorld>;

/** A node with open-iscsi: a login creates a session, which shows LUN 2 as /dev/sdx; a logout removes both. */
function iscsiNode(
  fails: (args: string) => Partial<{ exitCode: number; stderr: string }> | undefined = () => undefined,
): Fixture {
  const world = volumeWorld();
  world.files.seed({ '/sys/class/scsi_host/host3/scan': '', '/dev/disk/by-path/other': '' });
  world.files.seed({ '/dev/sdx': 'block' }, true);
  const behave: FakeProgram = async ({ args }) => {
    const line = args.join(' ');
    const failure = fails(line);
    if (failure !== undefined) return failure;
    if (line.includes('-m iface') && line.includes('show'))
      return { stdout: 'iface.iscsi_ifacename = default\niface.transport_name = tcp\niface.initiatorname = <empty>\n' };
    if (line.includes('--login')) {
      world.files.seed({
        [`${SESSION}/iscsi_session/session1/targetname`]: `${IQN}\n`,
        [`${SESSION}/connection1:0/iscsi_connection/connection1:0/address`]: '10.0.0.1\n',
        [`${SESSION}/connection1:0/iscsi_connection/connection1:0/port`]: '3260\n',
        '/sys/block/sdx/device/delete': '',
      });
      await world.files.symlink('../../sdx', `/dev/disk/by-path/ip-10.0.0.1:3260-iscsi-${IQN}-lun-2`);
    }
    return {};
  };
  world.processes.install('iscsiadm', behave);
  world.processes.install('blkid', () => ({ stdout: 'TYPE=ext4\n' }));
  world.processes.install('fsck', () => ({}));
  return world;
}

const calls = (world: Fixture): string[] =>
  world.processes.runs.filter(({ program }) => program === 'iscsiadm').map(({ args }) => args.join(' '));

test('an iSCSI disk is discovered, logged in to, scanned for its LUN alone, mounted once, and logged out of when its last pod goes', async () => {
  const world = iscsiNode();
  await Promise.all([world.manager.ensure(testPod('u1', [disk()])), world.manager.ensure(testPod('u2', [disk()]))]);
  assert.deepEqual(calls(world), [
    '-m iface -I default -o show',
    '-m discoverydb -t sendtargets -p 10.0.0.1:3260 -I default -o new',
    '-m discoverydb -t sendtargets -p 10.0.0.1:3260 -I default --discover',
    `-m node -p 10.0.0.1:3260 -T ${IQN} -I default -o update -n node.session.scan -v manual`,
    `-m node -p 10.0.0.1:3260 -T ${IQN} -I default --login`,
    `-m node -p 10.0.0.1:3260 -T ${IQN} -o update -n node.startup -v manual`,
  ]);
  assert.equal(world.files.peek('/sys/class/scsi_host/host3/scan'), '0 0 2');
  assert.deepEqual(
    world.mounts.mounted.map(({ path, source }) => [path, source]),
    [
      [STAGED, `/dev/disk/by-path/ip-10.0.0.1:3260-iscsi-${IQN}-lun-2`],
      [volumePath('u1', 'iscsi', 'd'), STAGED],
      [volumePath('u2', 'iscsi', 'd'), STAGED],
    ],
  );
  assert.deepEqual(world.manager.volumesInUse(), [`kubernetes.io/iscsi/10.0.0.1:3260:${IQN}:2`]);
  await world.manager.tearDown(podUid('u1'));
  await world.clock.settle();
  assert.equal(world.mounts.mounted.length, 2);
  world.processes.runs.length = 0;
  await world.manager.tearDown(podUid('u2'));
  await world.clock.settle();
  assert.deepEqual(calls(world), [
    `-m node -p 10.0.0.1:3260 -T ${IQN} --logout -I default`,
    `-m node -p 10.0.0.1:3260 -T ${IQN} -o delete -I default`,
  ]);
  assert.deepEqual(
    [
      world.mounts.mounted,
      world.files.peek('/sys/block/sdx/device/delete'),
      await world.files.list(`${ROOT}/plugins/kubernetes.io/iscsi/iface-default`),
    ],
    [[], '1', []],
  );
});

test('an iSCSI disk of a pod that was removed while the agent was down is unmounted and logged out of', async () => {
  const world = iscsiNode();
  await world.manager.ensure(testPod('u1', [disk()]));
  world.manager.stop();
  const restarted = world.restart();
  await restarted.reconstruct();
  assert.deepEqual(restarted.volumesInUse(), [`kubernetes.io/iscsi/10.0.0.1:3260:${IQN}:2`]);
  world.processes.runs.length = 0;
  await restarted.cleanupOrphans(new Set());
  await world.clock.settle();
  assert.deepEqual([calls(world).filter((call) => call.includes('--logout')).length, world.mounts.mounted], [1, []]);
});

test('CHAP secrets are set for the target and in no event, log or note', async () => {
  const world = iscsiNode((args) =>
    args.includes('node.session.auth.password -v') ? { exitCode: 5, stderr: 'cannot set hunter2' } : undefined,
  );
  const chap = { chapAuthSession: true, secretRef: { name: 'chap' } };
  void world.manager.ensure(testPod('u1', [disk(chap)])).catch(() => undefined);
  await world.clock.settle();
  assert.match(world.events[0] ?? '', /couldn't get secret default\/chap error: secrets "chap" not found$/);
  world.objects.set('Secret', { ...secret('chap', {}), type: 'Opaque' });
  await world.clock.advance(600);
  assert.match(world.events.at(-1) ?? '', /cannot get secret of type Opaque$/);
  world.objects.set('Secret', {
    ...secret('chap', { 'node.session.auth.username': 'me', 'node.session.auth.password': 'hunter2' }),
    type: 'kubernetes.io/iscsi-chap',
  });
  await world.clock.advance(2000);
  assert.match(
    world.events.at(-1) ?? '',
    /failed to get any path for iscsi disk, last err seen:\niscsi: failed to update key "node.session.auth.password" with CHAP: exit status 5$/,
  );
  assert.ok(
    calls(world).includes(
      `-m node -p 10.0.0.1:3260 -T ${IQN} -I default -o update -n node.session.auth.authmethod -v CHAP`,
    ),
  );
  const written = JSON.stringify([world.events, world.log.lines, world.files.peek(`${STAGED}.json`)]);
  assert.equal(written.includes('hunter2'), false);
});

test('failures of an iSCSI disk are reported: no program, no target, no device', async () => {
  const without = volumeWorld();
  void without.manager.ensure(testPod('u1', [disk()])).catch(() => undefined);
  await without.clock.settle();
  assert.match(
    without.events[0] ?? '',
    /MountVolume.MountDevice failed for volume "d" : iscsiadm is not installed on this node: it is in the package open-iscsi/,
  );
  const unreachable = iscsiNode((args) =>
    args.includes('--discover') ? { exitCode: 4, stderr: 'iscsiadm: cannot make connection to 10.0.0.1' } : undefined,
  );
  void unreachable.manager.ensure(testPod('u1', [disk()])).catch(() => undefined);
  await unreachable.clock.settle();
  assert.match(
    unreachable.events[0] ?? '',
    /iscsi: failed to sendtargets to portal 10.0.0.1:3260: .*cannot make connection to 10.0.0.1$/s,
  );
  const silent = iscsiNode();
  void silent.manager.ensure(testPod('u1', [disk({ lun: 7 })])).catch(() => undefined);
  await silent.clock.advance(31_000);
  assert.match(
    silent.events.at(-1) ?? '',
    /Timed out waiting for device at path \/dev\/disk\/by-path\/ip-10.0.0.1:3260-iscsi-.*-lun-7 after 30s$/,
  );
});

test('a volume with its own initiator gets its own interface, which is removed with the disk', async () => {
  const world = iscsiNode();
  await world.manager.ensure(testPod('u1', [disk({ initiatorName: 'iqn.2026-01.org.example:me' })]));
  const own = '-m iface -I 10.0.0.1:3260:d';
  assert.deepEqual(
    calls(world).filter((call) => call.startsWith('-m iface')),
    [
      '-m iface -I default -o show',
      `${own} -o new`,
      `${own} -o update -n iface.initiatorname -v iqn.2026-01.org.example:me`,
      `${own} -o update -n iface.transport_name -v tcp`,
    ],
  );
  await world.manager.tearDown(podUid('u1'));
  await world.clock.settle();
  assert.equal(calls(world).at(-1), `${own} -o delete`);
});

test('names that are paths or look like options reach no program and no folder', async () => {
  const hostile: Volume[] = [
    disk({ iqn: 'iqn.2026-01.org.example:../../../../etc' }),
    disk({ targetPortal: '--logoutall=all' }),
    disk({ iscsiInterface: '../x' }),
    { name: 'd', fc: { wwids: ['../../../../../etc'] } },
    { name: 'd', fc: { targetWWNs: ['-x'], lun: 0 } },
  ];
  for (const volume of hostile) {
    const world = iscsiNode();
    void world.manager.ensure(testPod('u1', [volume])).catch(() => undefined);
    await world.clock.settle();
    assert.match(
      world.events[0] ?? '',
      /names no (target|disk)$|is not a valid name of a disk$/,
      JSON.stringify(volume),
    );
    assert.deepEqual([world.processes.runs, await world.files.list(`${ROOT}/plugins`)], [[], []]);
  }
  const program = iscsiNode();
  void program.manager.ensure(testPod('u1', [disk({ fsType: '../../tmp/evil' })])).catch(() => undefined);
  await program.clock.settle();
  assert.match(program.events[0] ?? '', /fsType "..\/..\/tmp\/evil" is not a file system name$/);
});

/** A node with two paths to one Fibre Channel disk, with or without a multipath device for it. */
async function fibreNode(multipath: boolean): Promise<Fixture> {
  const world = volumeWorld();
  world.files.seed({
    '/sys/class/scsi_host/host0/scan': '',
    '/sys/block/sdx/device/delete': '',
    '/sys/block/sdy/device/delete': '',
    '/dev/disk/by-path/other': '',
    ...(multipath ? { '/sys/block/dm-0/slaves/sdx': '', '/sys/block/dm-0/slaves/sdy': '' } : {}),
  });
  world.files.seed({ '/dev/sdx': 'block', '/dev/sdy': 'block', '/dev/dm-0': 'block' }, true);
  await world.files.symlink('../../sdx', '/dev/disk/by-path/pci-0000:00:1f.2-fc-0x500a0981891b8dc5-lun-0');
  await world.files.symlink('../../sdy', '/dev/disk/by-path/fc-0x500a0981991b8dc5-lun-0');
  for (const program of ['blkid', 'fsck', 'multipath', 'blockdev'])
    world.processes.install(program, () => (program === 'blkid' ? { stdout: 'TYPE=ext4\n' } : {}));
  return world;
}

const fibre = (more: object = {}): Volume => ({
  name: 'f',
  fc: { targetWWNs: ['500a0981891b8dc5', '500a0981991b8dc5'], lun: 0, ...more },
});

test('a Fibre Channel disk is used through multipath if available, and its paths are removed afterwards', async () => {
  const world = await fibreNode(true);
  await world.manager.ensure(testPod('u1', [fibre()]));
  const staged = `${ROOT}/plugins/kubernetes.io/fc/500a0981891b8dc5-500a0981991b8dc5-lun-0`;
  assert.deepEqual(
    [
      world.mounts.mounted[0]?.path,
      world.mounts.mounted[0]?.source,
      world.files.peek('/sys/class/scsi_host/host0/scan'),
    ],
    [staged, '/dev/dm-0', ''],
  );
  await world.manager.tearDown(podUid('u1'));
  await world.clock.settle();
  assert.deepEqual(world.processes.runs.map(({ program, args }) => [program, ...args].join(' ')).slice(2), [
    'multipath -f /dev/dm-0',
    'blockdev --flushbufs /dev/sdx',
    'blockdev --flushbufs /dev/sdy',
  ]);
  assert.deepEqual(
    [
      world.files.peek('/sys/block/sdx/device/delete'),
      world.files.peek('/sys/block/sdy/device/delete'),
      world.mounts.mounted,
    ],
    ['1', '1', []],
  );
});

test('without multipath the hosts are scanned and a plain path is used; a missing disk is reported', async () => {
  const plain = await fibreNode(false);
  await plain.manager.ensure(testPod('u1', [fibre()]));
  assert.deepEqual(
    [plain.mounts.mounted[0]?.source, plain.files.peek('/sys/class/scsi_host/host0/scan')],
    ['/dev/sdy', '- - -'],
  );
  const none = await fibreNode(false);
  void none.manager.ensure(testPod('u1', [fibre({ lun: 9 })])).catch(() => undefined);
  await none.clock.settle();
  assert.equal(
    none.events[0],
    'pod-u1 Warning FailedMount MountVolume.MountDevice failed for volume "f" : no fc disk found',
  );
});

test('names of an iSCSI volume that are paths, options or more than one line never reach iscsiadm', async () => {
  const initiatorName = 'iqn.2026-01.org.example:me';
  const attacks: object[] = [
    { iscsiInterface: '../../../etc/x' },
    { iscsiInterface: '-o' },
    { iscsiInterface: '..' },
    { iscsiInterface: 'a\nb' },
    { targetPortal: '10.0.0.1/..' },
    { targetPortal: '--help' },
    { targetPortal: '10.0.0.1,10.0.0.2' },
    { portals: ['a\0b'] },
    { iqn: `${IQN}/../x` },
    { iqn: `${IQN}\nx = y` },
    { iscsiInterface: '../../../etc/x', initiatorName },
    { iscsiInterface: '--version', initiatorName },
    { initiatorName: `${initiatorName}\niface.transport_name = x` },
    { initiatorName: '-x' },
  ];
  for (const more of attacks) {
    const world = iscsiNode();
    void world.manager.ensure(testPod('u1', [disk(more)])).catch(() => undefined);
    await world.clock.settle();
    assert.deepEqual(calls(world), [], JSON.stringify(more));
    assert.match(world.events[0] ?? '', /names no target/, JSON.stringify(more));
  }
});

test('a CHAP secret with a line break adds no setting to the record of a target', async () => {
  const world = iscsiNode();
  world.objects.set('Secret', {
    ...secret('chap', {
      'node.session.auth.username': 'me',
      'node.session.auth.password': 'x\nnode.startup = automatic',
    }),
    type: 'kubernetes.io/iscsi-chap',
  });
  void world.manager
    .ensure(testPod('u1', [disk({ chapAuthSession: true, secretRef: { name: 'chap' } })]))
    .catch(() => undefined);
  await world.clock.settle();
  assert.match(world.events[0] ?? '', /the value of "node\.session\.auth\.password" has control characters$/);
  assert.deepEqual(
    calls(world).filter((line) => line.includes('automatic') || line.includes('auth.password')),
    [],
  );
});
