// Devices from the view of plugins and containers: plugins in their own processes, on the real runtime.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { createPodResourcesClient } from '../../src/devices/pod-resources-server.ts';
import type { TestDevice } from './support/device-plugin.ts';
import { TestDevicePlugin } from './support/device-plugin.ts';
import { container, pod, shell } from './support/manifests.ts';
import { agentFixture } from './support/suite.ts';
import { containerId } from './support/watch.ts';

const fixture = agentFixture({ name: 'devices' });
const plugins: TestDevicePlugin[] = [];
after(() => Promise.all(plugins.map((plugin) => plugin.dispose())));

const names = (...ids: string[]): TestDevice[] => ids.map((id) => ({ id }));

async function pluginOf(
  name: string,
  devices: readonly TestDevice[],
  options: ConstructorParameters<typeof TestDevicePlugin>[3] = {},
): Promise<TestDevicePlugin> {
  const plugin = new TestDevicePlugin(`devices.test/${name}`, fixture.agent.rootDir, devices, options);
  plugins.push(plugin);
  await plugin.start();
  return plugin;
}

const asking = (name: string, count: number): Record<string, unknown> => ({
  resources: { limits: { [`devices.test/${name}`]: String(count) } },
});

const user = (podName: string, name: string, count: number, more: Record<string, unknown> = {}) =>
  pod(podName, { containers: [container('main', { ...asking(name, count), ...more })] });

interface Checkpoint {
  readonly Data: {
    PodDeviceEntries: { PodUID: string; ContainerName: string; ResourceName: string; DeviceIDs: object }[] | null;
    RegisteredDevices: Record<string, string[]>;
  };
}

const checkpointFile = (): string => join(fixture.agent.rootDir, 'device-plugins', 'kubelet_internal_checkpoint');
const checkpoint = (): Checkpoint => JSON.parse(readFileSync(checkpointFile(), 'utf8')) as Checkpoint;

describe('a container with devices', () => {
  test('sees their nodes, variables, mounts and annotations', async () => {
    const { agent, containerd } = fixture;
    const plugin = await pluginOf('plain', names('a', 'b', 'c'));
    await agent.run(user('plain', 'plain', 2));
    const [allocated] = plugin.calls('Allocate');
    const ids = [...(allocated?.ids ?? [])].sort();
    assert.equal(ids.length, 2);
    assert.equal(await agent.inside('plain', 'echo $DEVICES_PLAIN'), ids.join(','));
    assert.equal(await agent.inside('plain', 'cat /etc/plain/name'), 'devices.test/plain');
    for (const id of ids)
      assert.equal(
        await agent.inside('plain', `test -c /dev/plain-${id} && echo x > /dev/plain-${id} && echo ok`),
        'ok',
      );
    const { status } = await containerd.cri.runtime.containerStatus({ containerId: containerId(agent.pod('plain')) });
    assert.equal(status?.annotations['devices.test/plain'], ids.join(','));
    const { status: shown } = agent.pod('plain');
    assert.deepEqual(shown?.containerStatuses?.[0]?.allocatedResourcesStatus, [
      { name: 'devices.test/plain', resources: ids.map((resourceID) => ({ resourceID, health: 'Healthy' })) },
    ]);
    await agent.remove('plain');
  });

  test('that restarts keeps its device, and a pod gets the device of one that is gone', async () => {
    const { agent } = fixture;
    const plugin = await pluginOf('again', names('only'));
    await agent.run(user('again', 'again', 1, { command: shell('cat /etc/again/name; sleep 0.5') }));
    await agent.waitFor('again', 'restarted', ({ status }) => (status?.containerStatuses?.[0]?.restartCount ?? 0) > 0);
    assert.equal(plugin.calls('Allocate').length, 1);
    await agent.remove('again');
    await agent.run(user('successor', 'again', 1));
    assert.equal(plugin.calls('Allocate').length, 2);
    await agent.remove('successor');
  });

  test('uses those of an init container, chosen by the plugin, which is called before each start', async () => {
    const { agent } = fixture;
    const plugin = await pluginOf('init', names('a', 'b', 'c', 'd'), { preStart: true, preferred: ['d', 'b'] });
    await agent.run(
      pod('init-devices', {
        initContainers: [container('first', { ...asking('init', 2), command: shell('test -c /dev/init-d') })],
        containers: [container('main', asking('init', 2))],
      }),
    );
    assert.deepEqual(
      plugin.calls('Allocate').map(({ ids }) => [...(ids ?? [])].sort()),
      [
        ['b', 'd'],
        ['b', 'd'],
      ],
    );
    assert.equal(plugin.calls('PreStartContainer').length, 2);
    await agent.remove('init-devices');
  });
});

describe('a pod that cannot have its devices', () => {
  test('is rejected with the error texts of upstream: too many devices, and a plugin that fails', async () => {
    const { agent } = fixture;
    const plugin = await pluginOf('scarce', names('a'));
    agent.writeManifest('greedy', user('greedy', 'scarce', 2));
    const { status } = await agent.phase('greedy', 'Failed');
    assert.equal(status?.reason, 'UnexpectedAdmissionError');
    assert.equal(
      status?.message,
      'Pod was rejected: Allocate failed due to requested number of devices unavailable for devices.test/scarce. Requested: 2, Available: 1, which is unexpected',
    );
    plugin.fault('Allocate', { kind: 'fail', code: 'Internal', message: 'no power', once: true });
    agent.writeManifest('unlucky', user('unlucky', 'scarce', 1));
    const unlucky = await agent.phase('unlucky', 'Failed');
    assert.match(unlucky.status?.message ?? '', /rpc error: code = Internal desc = no power/);
    await agent.remove('greedy', 'unlucky');
    await agent.run(user('lucky', 'scarce', 1));
    await agent.remove('lucky');
  });

  test('waits for a plugin that hangs, and delays no other pod', async () => {
    const { agent } = fixture;
    const slow = await pluginOf('slow', names('a'));
    await pluginOf('quick', names('a'));
    slow.fault('Allocate', { kind: 'hang' });
    agent.writeManifest('waiting', user('waiting', 'slow', 1));
    await slow.asked('Allocate');
    await agent.run(user('passing', 'quick', 1));
    assert.match((await agent.explain('waiting'))?.phase ?? '', /Pending/);
    await agent.remove('waiting', 'passing');
  });
});

describe('plugins that change', () => {
  test('a device that becomes unhealthy is shown in the status of its pod, and serves no new one', async () => {
    const { agent } = fixture;
    const plugin = await pluginOf('worn', names('a', 'b'));
    await agent.run(user('worn', 'worn', 1));
    const health = (of: string) =>
      agent.waitFor('worn', of, ({ status }) =>
        (status?.containerStatuses?.[0]?.allocatedResourcesStatus ?? []).some(({ resources = [] }) =>
          resources.every((one) => one.health === of),
        ),
      );
    await health('Healthy');
    plugin.list([
      { id: 'a', healthy: false },
      { id: 'b', healthy: false },
    ]);
    await health('Unhealthy');
    agent.writeManifest('late', user('late', 'worn', 1));
    const { status } = await agent.phase('late', 'Failed');
    assert.match(status?.message ?? '', /no healthy devices present; cannot allocate unhealthy devices/);
    plugin.list(names('a', 'b'));
    await health('Healthy');
    await agent.remove('worn', 'late');
  });

  test('a plugin that was killed registers again, and its pods keep their devices', async () => {
    const { agent } = fixture;
    const plugin = await pluginOf('killed', names('a', 'b'));
    await agent.run(user('before', 'killed', 1));
    await plugin.stop('SIGKILL');
    await plugin.start();
    await plugin.asked('registered', 2);
    await agent.run(user('after', 'killed', 1));
    const ids = plugin.calls('Allocate').map(({ ids: own }) => own?.[0]);
    assert.deepEqual(ids.toSorted(), ['a', 'b']);
    await agent.remove('before', 'after');
  });

  test('a plugin may register through the plugin watcher', async () => {
    const { agent } = fixture;
    const plugin = await pluginOf('watched', names('a'), { watched: true });
    await plugin.asked('registered');
    await agent.run(user('watched', 'watched', 1));
    await agent.remove('watched');
  });

  test('other versions, names and paths are refused', async () => {
    for (const [name, options, why] of [
      ['old', { version: 'v1alpha' }, /requested API version "v1alpha" is not supported by kubelet/],
      ['path', { endpoint: '../../containerd.sock' }, /is not a file name/],
      ['Bad name', {}, /the ResourceName "devices.test\/Bad name" is invalid/],
    ] as const) {
      const plugin = await pluginOf(name, names('a'), options);
      const [refused] = await plugin.asked('refused');
      assert.match(refused?.message ?? '', why);
    }
  });
});

describe('the Pod Resources API', () => {
  test('lists the devices of pods and those that may be allocated', async () => {
    const { agent } = fixture;
    await pluginOf('seen', [
      { id: 'a', nodes: [0] },
      { id: 'b', healthy: false },
    ]);
    const { metadata } = await agent.run(user('seen', 'seen', 1));
    const socketPath = join(agent.rootDir, 'pod-resources', 'kubelet.sock');
    const client = createPodResourcesClient({ socketPath, clock: systemClock });
    try {
      const devices = [{ resourceName: 'devices.test/seen', deviceIds: ['a'], topology: { nodes: [{ ID: 0n }] } }];
      const { podResources } = await client.v1.get({ podName: metadata.name, podNamespace: metadata.namespace });
      assert.deepEqual(podResources?.containers[0]?.devices, devices);
      const { podResources: all } = await client.v1.list({});
      assert.deepEqual(all.find(({ name }) => name === metadata.name)?.containers[0]?.devices, devices);
      const old = await client.v1alpha1.list({});
      assert.ok(old.podResources.some(({ name }) => name === metadata.name));
      const { devices: free } = await client.v1.getAllocatableResources({});
      assert.deepEqual(
        free.filter(({ resourceName }) => resourceName === 'devices.test/seen'),
        devices,
      );
      await assert.rejects(client.v1.get({ podName: 'x', podNamespace: 'y' }), /pod x in namespace y not found/);
    } finally {
      client.close();
    }
    await agent.remove('seen');
  });
});

describe('a restart of the agent', () => {
  test('keeps the device allocations after kill -9, and with a corrupt checkpoint', async () => {
    const { agent } = fixture;
    const plugin = await pluginOf('kept', names('a', 'b', 'c'));
    const first = await agent.run(user('kept', 'kept', 1));
    const id = containerId(first);
    for (const [round, disturb] of [
      () => undefined,
      () => writeFileSync(checkpointFile(), readFileSync(checkpointFile(), 'utf8').slice(0, -20)),
    ].entries()) {
      await agent.kill9();
      disturb();
      await agent.start();
      await plugin.asked('registered', round + 2);
      const next = `kept-${round}`;
      await agent.run(user(next, 'kept', 1));
      assert.equal(containerId(await agent.ready('kept')), id);
    }
    const ids = plugin.calls('Allocate').map(({ ids: own }) => own?.[0]);
    assert.deepEqual(ids.toSorted(), ['a', 'b', 'c']);
    const held = (checkpoint().Data.PodDeviceEntries ?? []).filter(
      ({ ResourceName }) => ResourceName === 'devices.test/kept',
    );
    assert.equal(held.length, 3);
    assert.deepEqual(checkpoint().Data.RegisteredDevices['devices.test/kept'], ['a', 'b', 'c']);
    assert.match(readFileSync(`${checkpointFile()}.corrupt`, 'utf8'), /PodDeviceEntries/);
    await agent.remove('kept', 'kept-0', 'kept-1');
  });
});
