// CSI from the driver's view: a driver in its own process, on the real runtime, with real mounts and loop devices.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { waitUntil } from '../../src/up/processes.ts';
import { TestCsiDriver } from './support/csi-driver.ts';
import { container, pod, secret } from './support/manifests.ts';
import { agentFixture, SIDE_BY_SIDE } from './support/suite.ts';
import { containerId } from './support/watch.ts';

const fixture = agentFixture({ name: 'csi' });
const drivers: TestCsiDriver[] = [];
after(() => Promise.all(drivers.map((driver) => driver.dispose())));

/** A driver for one test, started by default, so that tests may script and stop their drivers concurrently. */
async function driverOf(name: string, start = true): Promise<TestCsiDriver> {
  const driver = new TestCsiDriver(`${name}.csi.test`, fixture.agent.rootDir);
  drivers.push(driver);
  if (start) await driver.start();
  return driver;
}

const csiDriver = (driver: TestCsiDriver, spec: Record<string, unknown>) => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'CSIDriver',
  metadata: { name: driver.setting.name },
  spec: { attachRequired: false, ...spec },
});

function claimed(
  driver: TestCsiDriver,
  name: string,
  more: { mode?: 'Block'; size?: string; csi?: Record<string, unknown>; pv?: Record<string, unknown> } = {},
): object[] {
  const { mode = 'Filesystem', size = '16Mi' } = more;
  const resources = { requests: { storage: '16Mi' } };
  return [
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: `pv-${name}` },
      spec: {
        capacity: { storage: size },
        accessModes: ['ReadWriteOnce'],
        volumeMode: mode,
        storageClassName: '',
        persistentVolumeReclaimPolicy: 'Retain',
        claimRef: { namespace: 'default', name },
        csi: { driver: driver.setting.name, volumeHandle: `handle-${name}`, ...more.csi },
        ...more.pv,
      },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name, namespace: 'default' },
      spec: {
        accessModes: ['ReadWriteOnce'],
        volumeMode: mode,
        storageClassName: '',
        volumeName: `pv-${name}`,
        resources,
      },
    },
  ];
}

const mounting = { volumeMounts: [{ name: 'data', mountPath: '/data' }] };

function user(name: string, claim: string, more: Record<string, unknown> = {}) {
  return pod(name, {
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: claim } }],
    containers: [container('main', mounting)],
    ...more,
  });
}

const mountsOf = (text: string): string[] =>
  readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => line.includes(text));

describe('drivers that behave', SIDE_BY_SIDE, () => {
  test('an inline volume is published with secret and pod info, and unpublished with the pod', async () => {
    const { agent } = fixture;
    const driver = await driverOf('inline');
    agent.writeManifest(
      'inline-driver',
      csiDriver(driver, { volumeLifecycleModes: ['Ephemeral'], podInfoOnMount: true }),
      secret('inline-secret', { password: 'pw' }),
    );
    const csi = {
      driver: driver.setting.name,
      volumeAttributes: { colour: 'green' },
      nodePublishSecretRef: { name: 'inline-secret' },
    };
    await agent.run(pod('inline', { volumes: [{ name: 'data', csi }], containers: [container('main', mounting)] }));
    const [published] = driver.calls('NodePublishVolume');
    assert.match(published?.volumeId ?? '', /^csi-[0-9a-f]{64}$/);
    assert.deepEqual(published?.secrets, { password: 'pw' });
    const context = JSON.parse(await agent.inside('inline', 'cat /data/context')) as Record<string, string>;
    assert.deepEqual(
      [context['colour'], context['csi.storage.k8s.io/pod.name'], context['csi.storage.k8s.io/ephemeral']],
      ['green', agent.pod('inline').metadata.name, 'true'],
    );
    assert.deepEqual(driver.calls('NodeStageVolume'), []);
    await agent.remove('inline');
    assert.deepEqual(
      driver.calls('NodeUnpublishVolume').map(({ targetPath }) => targetPath),
      [published?.targetPath],
    );
    assert.deepEqual(mountsOf(published?.targetPath ?? '?'), []);
  });

  test('two pods share one staged volume; it is unstaged after the last, and the data stays', async () => {
    const { agent } = fixture;
    const driver = await driverOf('shared');
    agent.writeManifest(
      'shared-claim',
      csiDriver(driver, {}),
      ...claimed(driver, 'shared', { pv: { mountOptions: ['noatime'] }, csi: { fsType: 'ext4' } }),
    );
    await Promise.all([agent.run(user('shared-a', 'shared')), agent.run(user('shared-b', 'shared'))]);
    await agent.inside('shared-a', 'echo hello > /data/word');
    assert.equal(await agent.inside('shared-b', 'cat /data/word'), 'hello');
    const [staged, ...more] = driver.calls('NodeStageVolume');
    assert.deepEqual(
      [more, staged?.volumeCapability?.mount?.mountFlags, staged?.volumeCapability?.mount?.fsType],
      [[], ['noatime'], 'ext4'],
    );
    assert.equal(driver.calls('NodePublishVolume').length, 2);
    await agent.remove('shared-a');
    assert.deepEqual(driver.calls('NodeUnstageVolume'), []);
    assert.equal(await agent.inside('shared-b', 'cat /data/word'), 'hello');
    await agent.remove('shared-b');
    await driver.asked('NodeUnstageVolume', 'handle-shared');
    assert.ok(
      await waitUntil(
        () => mountsOf(staged?.stagingTargetPath ?? '?').length === 0 && !existsSync(staged?.stagingTargetPath ?? '/'),
        10_000,
      ),
      'the staging path stays',
    );
    assert.equal(readFileSync(join(driver.setting.folder, 'volumes', 'handle-shared', 'word'), 'utf8'), 'hello\n');
  });

  test('a volume claimed read-only is published read-only, and cannot be written', async () => {
    const { agent } = fixture;
    const driver = await driverOf('readonly');
    agent.writeManifest('readonly-claim', csiDriver(driver, {}), ...claimed(driver, 'readonly'));
    await agent.run(
      user('readonly', 'readonly', {
        volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'readonly', readOnly: true } }],
      }),
    );
    assert.match(await agent.inside('readonly', 'touch /data/x 2>&1 || true'), /Read-only/);
    assert.equal(driver.calls('NodePublishVolume')[0]?.readonly, true);
  });

  test("the pod's group owns the files of a volume with a file system type", async () => {
    const { agent } = fixture;
    const driver = await driverOf('group');
    agent.writeManifest('group-claim', csiDriver(driver, { fsGroupPolicy: 'File' }), ...claimed(driver, 'group'));
    await agent.run(user('group', 'group', { securityContext: { fsGroup: 4321 } }));
    assert.equal(await agent.inside('group', 'stat -c "%g %a" /data'), '4321 2775');
  });

  test('a raw device is one in the container, and goes away with the pod', async () => {
    const { agent } = fixture;
    const driver = await driverOf('block');
    agent.writeManifest('block-claim', csiDriver(driver, {}), ...claimed(driver, 'block', { mode: 'Block' }));
    await agent.run(
      pod('block', {
        volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'block' } }],
        containers: [container('main', { volumeDevices: [{ name: 'data', devicePath: '/dev/xvda' }] })],
      }),
    );
    assert.equal(
      await agent.inside(
        'block',
        'test -b /dev/xvda && printf raw | dd of=/dev/xvda bs=3 count=1 conv=fsync 2>/dev/null; head -c 3 /dev/xvda',
      ),
      'raw',
    );
    assert.equal(readFileSync(join(driver.setting.folder, 'handle-block.img')).subarray(0, 3).toString(), 'raw');
    await agent.remove('block');
    await driver.asked('NodeUnstageVolume', 'handle-block');
    assert.ok(
      await waitUntil(
        () =>
          mountsOf('volumeDevices/pv-block').length === 0 &&
          mountsOf('publish/pv-block').length === 0 &&
          !existsSync(join(agent.rootDir, 'plugins/kubernetes.io/csi/volumeDevices/pv-block')),
        10_000,
      ),
      mountsOf('pv-block').join('\n'),
    );
  });

  test('a volume grows while it is in use', async () => {
    const { agent } = fixture;
    const driver = await driverOf('grow');
    agent.writeManifest('grow-claim', csiDriver(driver, {}), ...claimed(driver, 'grow'));
    await agent.run(user('grow', 'grow'));
    agent.writeManifest('grow-claim', csiDriver(driver, {}), ...claimed(driver, 'grow', { size: '32Mi' }));
    const [expanded] = await driver.asked('NodeExpandVolume', 'handle-grow');
    assert.match(expanded?.volumePath ?? '', /volumes\/kubernetes\.io~csi\/pv-grow\/mount$/);
    assert.equal(await agent.inside('grow', 'cat /data/size'), String(32 * 2 ** 20));
    await agent.explained('grow', 'the growth', (now) =>
      /MountVolume\.NodeExpandVolume succeeded for volume \\?"pv-grow\\?"/.test(JSON.stringify(now)),
    );
  });

  test("a driver without the CSIDriver object that inline volumes need is refused in upstream's words, until it comes", async () => {
    const { agent } = fixture;
    const driver = await driverOf('unnamed');
    agent.writeManifest(
      'unnamed',
      pod('unnamed', {
        volumes: [{ name: 'data', csi: { driver: driver.setting.name } }],
        containers: [container('main', mounting)],
      }),
    );
    await agent.explained('unnamed', 'the missing object', (now) =>
      now.blockers.some((blocker) =>
        /not supported by driver unnamed\.csi\.test \(no CSIDriver object\)/.test(JSON.stringify(blocker)),
      ),
    );
    agent.writeManifest('unnamed-driver', csiDriver(driver, { volumeLifecycleModes: ['Ephemeral'] }));
    await agent.ready('unnamed');
  });
});

describe('drivers that do not', SIDE_BY_SIDE, () => {
  test('a driver that is not there is waited for, and its pods go on the moment it registers', async () => {
    const { agent } = fixture;
    // Drivers may register in a folder of their own, which is there no sooner than they.
    const driver = new TestCsiDriver('late.csi.test', agent.rootDir, { registerIn: 'late/deeper' });
    drivers.push(driver);
    agent.writeManifest('late-claim', csiDriver(driver, {}), ...claimed(driver, 'late'), user('late', 'late'));
    await agent.explained('late', 'the missing driver', (now) =>
      now.blockers.some((blocker) =>
        /driver name late\.csi\.test not found in the list of registered CSI drivers/.test(JSON.stringify(blocker)),
      ),
    );
    await driver.start();
    await agent.ready('late');
  });

  test('a restarted driver registers again, whether it took its sockets away or left them', async () => {
    const { agent } = fixture;
    const driver = await driverOf('again');
    agent.writeManifest('again-claim', csiDriver(driver, {}), ...claimed(driver, 'again'));
    await agent.run(user('again', 'again'));
    const { length } = driver.calls('NodeGetInfo');
    await driver.stop('SIGKILL');
    await driver.start();
    assert.ok(
      await waitUntil(() => driver.calls('NodeGetInfo').length > length, 20_000),
      'not registered after a kill',
    );
    await driver.stop('SIGTERM');
    await driver.start();
    assert.ok(
      await waitUntil(() => driver.calls('NodeGetInfo').length > length + 1, 20_000),
      'not registered after an orderly end',
    );
    await agent.remove('again');
    await driver.asked('NodeUnstageVolume', 'handle-again');
  });

  test('a call that fails, crashes or hangs: the pod waits, is tried again, and does not affect others', async () => {
    const { agent } = fixture;
    const [driver, other] = await Promise.all([driverOf('faulty'), driverOf('sound')]);
    driver.fault('NodeStageVolume', { kind: 'fail', code: 'Internal', message: 'disk is on fire' });
    agent.writeManifest('faulty-claim', csiDriver(driver, {}), ...claimed(driver, 'faulty'), user('faulty', 'faulty'));
    await agent.explained('faulty', 'the fault', (now) =>
      now.blockers.some((blocker) => /rpc error: code = Internal desc = disk is on fire/.test(JSON.stringify(blocker))),
    );
    driver.fault('NodePublishVolume', { kind: 'hang' });
    driver.heal('NodeStageVolume');
    await driver.asked('NodePublishVolume', 'handle-faulty');
    agent.writeManifest('sound-claim', csiDriver(other, {}), ...claimed(other, 'sound'));
    await agent.run(user('sound', 'sound'));
    driver.heal('NodePublishVolume');
    await driver.stop('SIGKILL');
    await driver.start();
    await agent.ready('faulty');
  });

  test('a pod whose driver is disconnected ends only after the driver is back, and reports the wait', async () => {
    const { agent } = fixture;
    const driver = await driverOf('away');
    agent.writeManifest('away-claim', csiDriver(driver, {}), ...claimed(driver, 'away'));
    await agent.run(user('away', 'away'));
    await driver.stop();
    agent.removeManifest('away');
    await agent.explained('away', 'the missing driver', (now) =>
      /Unmounter\.TearDownAt failed to get CSI client: driver name away\.csi\.test not found in the list of registered CSI drivers/.test(
        JSON.stringify(now),
      ),
    );
    assert.equal(mountsOf('pv-away/mount').length, 1);
    await driver.start();
    await agent.gone('away');
    await driver.asked('NodeUnstageVolume', 'handle-away');
  });

  test('unpublish and unstage are tried until they succeed', async () => {
    const { agent } = fixture;
    const driver = await driverOf('clingy');
    agent.writeManifest('clingy-claim', csiDriver(driver, {}), ...claimed(driver, 'clingy'));
    await agent.run(user('clingy', 'clingy'));
    driver.fault('NodeUnpublishVolume', { kind: 'fail', code: 'Internal', message: 'not yet', once: true });
    driver.fault('NodeUnstageVolume', { kind: 'fail', code: 'Unavailable', message: 'not yet', once: true });
    await agent.remove('clingy');
    await driver.asked('NodeUnstageVolume', 'handle-clingy', 2);
    assert.equal(driver.calls('NodeUnpublishVolume').length, 2);
    assert.ok(await waitUntil(() => mountsOf('clingy').length === 0, 10_000), mountsOf('clingy').join('\n'));
  });
});

describe('an agent that is restarted', () => {
  test('keeps what is used as it is, and takes down what its pod left meanwhile', async () => {
    const { agent } = fixture;
    const driver = await driverOf('restart');
    agent.writeManifest(
      'restart-claims',
      csiDriver(driver, { volumeLifecycleModes: ['Persistent', 'Ephemeral'] }),
      ...claimed(driver, 'kept'),
      ...claimed(driver, 'left'),
      ...claimed(driver, 'disk', { mode: 'Block' }),
    );
    const inline = { name: 'extra', csi: { driver: driver.setting.name } };
    const both = [
      container('main', {
        volumeMounts: [
          { name: 'data', mountPath: '/data' },
          { name: 'extra', mountPath: '/extra' },
        ],
      }),
    ];
    const kept = await agent.run(
      user('kept', 'kept', {
        volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'kept' } }, inline],
        containers: both,
      }),
    );
    await Promise.all([
      agent.run(user('left', 'left')),
      agent.run(
        user('disk', 'disk', {
          containers: [container('main', { volumeDevices: [{ name: 'data', devicePath: '/dev/xvda' }] })],
        }),
      ),
    ]);
    await agent.inside('kept', 'echo one > /data/word');
    await agent.kill9();
    agent.removeManifest('left');
    await agent.start();
    await driver.asked('NodeUnpublishVolume', 'handle-left');
    await driver.asked('NodeUnstageVolume', 'handle-left');
    await agent.ready('kept');
    assert.equal(containerId(agent.pod('kept')), containerId(kept));
    assert.equal(await agent.inside('kept', 'cat /data/word'), 'one');
    assert.deepEqual(
      [driver.calls('NodeUnpublishVolume', 'handle-kept'), driver.calls('NodeUnstageVolume', 'handle-kept')],
      [[], []],
    );
    assert.equal(mountsOf('pv-kept/mount').length, 1);
    assert.equal(mountsOf('pv-disk/dev/').length, 1);
    await agent.remove('kept', 'disk');
    await Promise.all([
      driver.asked('NodeUnstageVolume', 'handle-kept'),
      driver.asked('NodeUnstageVolume', 'handle-disk'),
    ]);
    assert.equal(driver.calls('NodeUnpublishVolume').length, 4);
  });

  test('nothing is left mounted, and no folder of a volume', async () => {
    const { agent } = fixture;
    await agent.clear();
    assert.ok(
      await waitUntil(() => mountsOf(join(agent.rootDir, 'plugins')).length === 0, 20_000),
      mountsOf(agent.rootDir).join('\n'),
    );
  });
});
