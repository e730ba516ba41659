import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../../api/core/node.ts';
import { KubeletError } from '../../../base/errors.ts';
import { podUid } from '../../model/ids.ts';
import type { FakeDevicePlugin } from '../../ports/testing/fake-device-plugins.ts';
import { emptyAllocation, plainDevice } from '../../ports/testing/fake-device-plugins.ts';
import { CHECKPOINT, containerOf, DeviceWorld, FOLDER, GPU, gpuPod, podOf } from './testing/device-world.ts';

const UNEXPECTED = 'UnexpectedAdmissionError';
const never = new AbortController().signal;
const devices = (...ids: string[]) => ids.map((id) => plainDevice(id));
const rejection = (why: string) => ({
  kind: 'reject',
  reason: UNEXPECTED,
  message: `Allocate failed due to ${why}, which is unexpected`,
});

async function world(...ids: string[]) {
  const one = new DeviceWorld();
  await one.start();
  const plugin = await one.register(devices(...ids));
  return { one, plugin };
}

describe('the allocation of devices', () => {
  it('gives no device to two pods, and refuses more than there are with the words of upstream', async () => {
    const { one } = await world('a', 'b', 'c');
    assert.deepEqual(await one.admit(gpuPod('p1', 2)), { kind: 'admit' });
    const refused = await one.admit(gpuPod('p2', 2));
    assert.deepEqual(
      refused,
      rejection(`requested number of devices unavailable for ${GPU}. Requested: 2, Available: 1`),
    );
    assert.deepEqual(await one.admit(gpuPod('p3', 1)), { kind: 'admit' });
    assert.equal(new Set([...one.ids('p1'), ...one.ids('p3')]).size, 3);
  });

  it('keeps devices apart while plugins respond at the same time', async () => {
    const { one } = await world('a', 'b');
    const verdicts = await Promise.all([one.admit(gpuPod('p1')), one.admit(gpuPod('p2')), one.admit(gpuPod('p3'))]);
    assert.deepEqual(verdicts.map(({ kind }) => kind).toSorted(), ['admit', 'admit', 'reject']);
    assert.equal(new Set([...one.ids('p1'), ...one.ids('p2'), ...one.ids('p3')]).size, 2);
  });

  it('lets the containers of a pod use the devices of its init containers, but not those of sidecars', async () => {
    const { one } = await world('a', 'b', 'c');
    const ask = { [GPU]: '2' };
    const sidecar = containerOf('side', { [GPU]: '1' }, { restartPolicy: 'Always' });
    const pod = podOf('p', [containerOf('c', ask)], [containerOf('init', ask), sidecar]);
    assert.deepEqual(await one.admit(pod), { kind: 'admit' });
    const [init, side, main] = [one.ids('p', 'init'), one.ids('p', 'side'), one.ids('p', 'c')];
    assert.deepEqual([init.length, side.length, main.length], [2, 1, 2]);
    assert.ok(init.includes(side[0] ?? ''));
    assert.ok(!main.includes(side[0] ?? ''));
  });

  it('frees the devices of pods that ended when the next pod needs them, not before the sources are ready', async () => {
    const { one } = await world('a');
    await one.admit(gpuPod('p1'));
    one.active = undefined;
    const early = await one.devices.manager.steps(gpuPod('p2'))[0]?.admit({ pod: gpuPod('p2') }, never);
    assert.equal(early?.kind, 'reject');
    one.active = [];
    assert.deepEqual(await one.admit(gpuPod('p2')), { kind: 'admit' });
    assert.deepEqual([one.ids('p1'), one.ids('p2')], [[], ['a']]);
  });

  it('asks the plugin for its preference, and follows the NUMA nodes of the topology manager first', async () => {
    const one = new DeviceWorld();
    await one.start();
    const near = (id: string, node: number) => plainDevice(id, { numaNodes: [node] });
    const plugin = await one.register([near('a', 0), near('b', 0), near('c', 1), near('d', 1), near('e', 1)]);
    plugin.options = { preStartRequired: false, preferredAllocationAvailable: true };
    await one.registerPlugin(plugin);
    plugin.preferred = () => ['a', 'e', 'd'];
    const pod = gpuPod('p', 2);
    one.devices.manager.hints.begin(pod).allocate(pod.spec.containers[0] ?? assert.fail(), 0b10);
    await one.admit(pod);
    assert.deepEqual(one.ids('p'), ['d', 'e']);
    assert.deepEqual(plugin.calls.findLast(({ op }) => op === 'preferredAllocation')?.ids, ['c', 'd', 'e']);
  });

  it('rejects a pod whose plugin fails, and leaves the devices to others', async () => {
    const { one, plugin } = await world('a');
    plugin.fail('allocate', new KubeletError('Internal', 'rpc error: code = Unknown desc = broken'));
    assert.deepEqual(await one.admit(gpuPod('p1')), rejection('rpc error: code = Unknown desc = broken'));
    plugin.heal('allocate');
    assert.deepEqual(await one.admit(gpuPod('p2')), { kind: 'admit' });
  });

  it('rejects a pod when the plugin answers for no container, or with what no runtime could use', async () => {
    const { one, plugin } = await world('a');
    plugin.allocation = () => undefined;
    assert.deepEqual(await one.admit(gpuPod('p1')), rejection('no containers return in allocation response {}'));
    const device = { containerPath: '/dev/x', hostPath: '/dev/../etc/shadow', permissions: 'rw' };
    for (const [bad, why] of [
      [{ devices: [device] }, '"/dev/../etc/shadow" is not an absolute path'],
      [{ devices: [{ ...device, hostPath: '/dev/x', permissions: 'rx' }] }, 'the permissions "rx" of a device'],
      [{ envs: { 'A=B': '1' } }, '"A=B" is not the name of an environment variable'],
      [{ annotations: { a: 'b\0' } }, 'it contains a zero byte'],
      [{ cdiDevices: Array.from({ length: 1001 }, (_, index) => `v/c=${index}`) }, 'more than 1000 entries'],
    ] as const) {
      plugin.allocation = () => ({ ...emptyAllocation, ...bad });
      const verdict = await one.admit(gpuPod('p2'));
      assert.ok(verdict.kind === 'reject' && verdict.message.includes(why), JSON.stringify(verdict));
    }
  });

  it('holds a pod whose plugin does not respond in time, and no other', async () => {
    const { one, plugin } = await world('a', 'b');
    const other = await one.register(devices('x'), 'example.com/other');
    plugin.fail('allocate', new KubeletError('Timeout', 'rpc error: code = DeadlineExceeded desc = slow'));
    assert.deepEqual(await one.admit(gpuPod('p1')), {
      kind: 'hold',
      why: 'rpc error: code = DeadlineExceeded desc = slow',
    });
    assert.deepEqual(await one.admit(podOf('p2', [containerOf('c', { 'example.com/other': '1' })])), { kind: 'admit' });
    assert.equal(other.calls.filter(({ op }) => op === 'allocate').length, 1);
  });

  it('ends with the signal while a plugin hangs, and its device is free again', async () => {
    const { one, plugin } = await world('a');
    plugin.hang('allocate');
    const abort = new AbortController();
    const hanging = one.admit(gpuPod('p1'), abort.signal);
    await one.clock.settle();
    abort.abort();
    await assert.rejects(hanging, { kind: 'Aborted' });
    plugin.heal('allocate');
    assert.deepEqual(await one.admit(gpuPod('p2')), { kind: 'admit' });
  });

  it('leaves alone what DRA provides, and what no plugin ever registered', async () => {
    const { one } = await world('a');
    const pod = gpuPod('p');
    const requestMappings = [{ containerName: 'c', resourceName: GPU, requestName: 'r' }];
    pod.status = { extendedResourceClaimStatus: { requestMappings, resourceClaimName: 'x' } };
    assert.deepEqual(one.devices.manager.steps(pod), []);
    assert.deepEqual(one.devices.manager.steps(podOf('q', [containerOf('c', { 'example.com/none': '1' })])), []);
  });
});

describe('the capacity of the node', () => {
  it('counts unhealthy devices, allocatable does not', async () => {
    const { one, plugin } = await world('a', 'b');
    plugin.list([plainDevice('a'), plainDevice('b', { healthy: false })]);
    await one.clock.advance(100);
    assert.deepEqual(one.devices.manager.capacity(), {
      capacity: { [GPU]: '2' },
      allocatable: { [GPU]: '1' },
      removed: [],
    });
  });

  it('keeps the devices of a plugin that left for five minutes, none of them allocatable, then none', async () => {
    const { one, plugin } = await world('a', 'b');
    plugin.die();
    await one.clock.advance(100);
    const left = { capacity: { [GPU]: '2' }, allocatable: { [GPU]: '0' }, removed: [] };
    assert.deepEqual(one.devices.manager.capacity(), left);
    assert.deepEqual(
      await one.admit(gpuPod('p')),
      rejection(`no healthy devices present; cannot allocate unhealthy devices ${GPU}`),
    );
    const changes = one.capacityChanges;
    await one.clock.advance(5 * 60_000);
    assert.ok(one.capacityChanges > changes);
    assert.deepEqual(one.devices.manager.capacity(), { capacity: {}, allocatable: {}, removed: [GPU] });
    await one.register(devices('a'));
    assert.deepEqual(one.devices.manager.capacity().allocatable, { [GPU]: '1' });
  });

  it("the node's capacity is left out of the node that admission sees, because the device manager accounts for it", async () => {
    const { one, plugin } = await world('a');
    const allocatable = { cpu: '1', [GPU]: '1', 'example.com/other': '3' };
    const node: Node = { metadata: { name: 'n', namespace: '', uid: '' }, status: { allocatable } };
    const seen = () => one.devices.manager.withoutDevices(node).status?.allocatable;
    assert.deepEqual(seen(), { cpu: '1', 'example.com/other': '3' });
    plugin.die();
    await one.clock.advance(5 * 60_000 + 100);
    assert.deepEqual(seen(), { cpu: '1', 'example.com/other': '3', [GPU]: '0' });
  });
});

describe('the start of a container', () => {
  it('gets what all its plugins responded', async () => {
    const { one, plugin } = await world('a', 'b');
    plugin.allocation = (ids) => ({
      envs: { IDS: ids.join(',') },
      mounts: [{ containerPath: '/lib/gpu', hostPath: '/usr/lib/gpu', readOnly: true }],
      devices: ids.map((id) => ({ containerPath: `/dev/${id}`, hostPath: `/dev/${id}`, permissions: 'rwm' })),
      annotations: { gpu: 'yes' },
      cdiDevices: ids.map((id) => `example.com/gpu=${id}`),
    });
    const other = await one.register(devices('x'), 'example.com/other');
    other.allocation = () => ({ ...emptyAllocation, envs: { IDS: 'second', OTHER: 'x' } });
    const pod = podOf('p', [containerOf('c', { [GPU]: '1', 'example.com/other': '1' })]);
    await one.admit(pod);
    const [container] = pod.spec.containers;
    assert.ok(container !== undefined);
    assert.deepEqual(await one.devices.manager.runOptions(pod, container, never), {
      envs: { IDS: 'a', OTHER: 'x' },
      mounts: [{ containerPath: '/lib/gpu', hostPath: '/usr/lib/gpu', readOnly: true }],
      devices: [{ containerPath: '/dev/a', hostPath: '/dev/a', permissions: 'rwm' }],
      annotations: { gpu: 'yes' },
      cdiDevices: ['example.com/gpu=a'],
    });
  });

  it('calls PreStartContainer each time where the plugin asked for it, and fails with it', async () => {
    const { one, plugin } = await world('a');
    plugin.options = { preStartRequired: true, preferredAllocationAvailable: false };
    await one.registerPlugin(plugin);
    const pod = gpuPod('p');
    await one.admit(pod);
    const start = () => one.devices.manager.runOptions(pod, pod.spec.containers[0] ?? assert.fail(), never);
    await start();
    await start();
    assert.equal(plugin.calls.filter(({ op }) => op === 'preStart').length, 2);
    plugin.fail('preStart', new KubeletError('Internal', 'rpc error: code = Unknown desc = cold'));
    await assert.rejects(start(), {
      message: 'device plugin PreStartContainer rpc failed with err: rpc error: code = Unknown desc = cold',
    });
  });

  it('allocates again what was lost', async () => {
    const { one, plugin } = await world('a');
    const pod = gpuPod('p');
    one.active = [pod];
    await one.devices.manager.runOptions(pod, pod.spec.containers[0] ?? assert.fail(), never);
    assert.deepEqual(one.ids('p'), ['a']);
    assert.equal(plugin.calls.filter(({ op }) => op === 'allocate').length, 1);
  });
});

describe('the health of devices', () => {
  it('device health is shown in the status of the pods that have them, which are named at each change', async () => {
    const { one, plugin } = await world('a', 'b');
    await one.admit(gpuPod('p'));
    const health = () => one.devices.manager.health(podUid('p'), 'c')?.[0]?.resources;
    assert.deepEqual(health(), [{ resourceID: 'a', health: 'Healthy' }]);
    one.health = [];
    plugin.list([plainDevice('a', { healthy: false }), plainDevice('b', { healthy: false })]);
    await one.clock.advance(100);
    assert.deepEqual(health(), [{ resourceID: 'a', health: 'Unhealthy' }]);
    assert.deepEqual(one.health, [podUid('p')]);
    assert.equal(one.devices.manager.health(podUid('q'), 'c'), undefined);
  });
});

describe('a restart of the agent', () => {
  it('keeps the device allocations, and offers no devices until the plugin registers again', async () => {
    const { one, plugin } = await world('a', 'b');
    await one.admit(gpuPod('p1'));
    await one.restart();
    assert.deepEqual(one.ids('p1'), ['a']);
    assert.deepEqual(one.devices.manager.capacity().capacity, { [GPU]: '0' });
    assert.equal((await one.admit(gpuPod('p2'))).kind, 'reject');
    await one.registerPlugin(plugin);
    assert.deepEqual(await one.admit(gpuPod('p3')), { kind: 'admit' });
    assert.deepEqual([one.ids('p1'), one.ids('p3')], [['a'], ['b']]);
    assert.equal(plugin.calls.filter(({ op }) => op === 'allocate').length, 2);
  });

  it('after which a pod that is admitted again waits 10 s for its plugin, and not for one without its devices', async () => {
    const refused = async (change: (one: DeviceWorld, plugin: FakeDevicePlugin) => Promise<void>) => {
      const { one, plugin } = await world('a', 'b');
      await one.admit(gpuPod('p'));
      await one.restart();
      await change(one, plugin);
      const verdict = await one.devices.manager.steps(gpuPod('p'))[0]?.admit({ pod: gpuPod('p') }, never);
      return [verdict?.kind, verdict?.kind === 'reject' ? verdict.message.replace(/^.*; /, '') : '', one.ids('p')];
    };
    assert.deepEqual(await refused((one, plugin) => one.registerPlugin(plugin)), ['admit', '', ['a']]);
    assert.deepEqual(await refused(async () => undefined), ['hold', '', ['a']]);
    assert.deepEqual(await refused((one) => one.clock.advance(10_001)), [
      'reject',
      `cannot allocate unhealthy devices ${GPU}, which is unexpected`,
      [],
    ]);
    assert.deepEqual(await refused(async (one) => void (await one.register([plainDevice('b')]))), [
      'reject',
      `cannot allocate unhealthy devices ${GPU}, which is unexpected`,
      [],
    ]);
  });

  it('removes the sockets of the earlier run and nothing else', async () => {
    const one = new DeviceWorld();
    one.files.seed({ [`${FOLDER}/kubelet.sock`]: 'socket', [`${FOLDER}/gpu.sock`]: 'socket' }, true);
    one.files.seed({ [`${FOLDER}/notes`]: 'text' });
    await one.start();
    assert.deepEqual((await one.files.list(FOLDER)).sort(), ['notes']);
  });

  it('survives a corrupt checkpoint by its copy, and sets it aside', async () => {
    const { one } = await world('a', 'b');
    await one.admit(gpuPod('p1'));
    const good = one.files.peek(CHECKPOINT) ?? '';
    for (const bad of ['', good.slice(0, -9), good.replace('p1', 'p2'), '\0\0\0']) {
      await one.files.writeFile(CHECKPOINT, bad, 0o600);
      await one.restart();
      assert.deepEqual(one.ids('p1'), ['a']);
      assert.equal(one.files.peek(`${CHECKPOINT}.corrupt`), bad);
      // The agent may be killed before it writes anything.
      await one.restart();
      assert.deepEqual(one.ids('p1'), ['a']);
    }
  });

  it('begins without state when the operator removed the checkpoint', async () => {
    const { one } = await world('a');
    await one.admit(gpuPod('p1'));
    await one.files.remove(CHECKPOINT);
    await one.restart();
    assert.deepEqual(one.ids('p1'), []);
  });

  it('admits no pod before its devices are on disk', async () => {
    const { one } = await world('a');
    const repair = one.files.fillDisk('/root');
    const verdict = await one.admit(gpuPod('p1'));
    assert.equal(verdict.kind, 'hold');
    repair();
    assert.deepEqual(await one.devices.manager.steps(gpuPod('p1'))[0]?.admit({ pod: gpuPod('p1') }, never), {
      kind: 'admit',
    });
    assert.match(one.files.peek(CHECKPOINT) ?? '', /"PodUID":"p1"/);
  });
});

describe('registration', () => {
  it('refuses other versions, names and paths with the words of upstream', async () => {
    const one = new DeviceWorld();
    await one.start();
    const good = { version: 'v1beta1', endpoint: 'a.sock', resource: GPU };
    for (const [change, message] of [
      [
        { version: 'v1' },
        /^requested API version "v1" is not supported by kubelet. Supported version is \["v1beta1"\]$/,
      ],
      [{ resource: 'cpu' }, /^the ResourceName "cpu" is invalid$/],
      [{ resource: 'kubernetes.io/gpu' }, /is invalid$/],
      [{ resource: 'example.com/../../x' }, /is invalid$/],
      [{ resource: `example.com/${'x'.repeat(10_000)}` }, /is invalid$/],
      [{ endpoint: '../../run/containerd/containerd.sock' }, /is not a file name/],
      [{ endpoint: '..' }, /is not a file name/],
      [{ endpoint: '' }, /is not a file name/],
      [{ endpoint: 'x'.repeat(200) }, /longer than 107 bytes/],
    ] as const)
      await assert.rejects(one.plugins.register({ ...good, ...change }), { message });
  });

  it('replaces an earlier plugin of the resource, whose end then changes nothing', async () => {
    const { one, plugin: first } = await world('a');
    const second = await one.register(devices('a', 'b', 'c'));
    first.die();
    await one.clock.advance(100);
    assert.deepEqual(one.devices.manager.capacity().allocatable, { [GPU]: '3' });
    second.die();
    await one.clock.advance(100);
    assert.deepEqual(one.devices.manager.capacity().allocatable, { [GPU]: '0' });
  });

  it('is limited to 100 resources', async () => {
    const one = new DeviceWorld();
    await one.start();
    for (let index = 0; index < 100; index++) await one.register(devices('a'), `example.com/r${index}`);
    await assert.rejects(one.register(devices('a'), 'example.com/one-more'), /no more than 100 resources/);
    await one.register(devices('a'), 'example.com/r7');
  });

  it('reports why plugins cannot register, and is served as soon as it can be', async () => {
    const one = new DeviceWorld();
    const repair = one.files.fillDisk('/root');
    await one.start();
    assert.match(one.devices.problem() ?? '', /^device registration error: /);
    repair();
    await one.clock.advance(5000);
    assert.equal(one.devices.problem(), undefined);
    await one.register(devices('a'));
  });
});
