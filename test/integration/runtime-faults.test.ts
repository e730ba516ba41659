// Faults of the runtime: restarts, outages, hanging and half-done calls, and changes by other clients.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { CriProxy } from '../../src/cri/testing/cri-proxy.ts';
import { removeCgroupTree } from '../../src/up/cgroups.ts';
import { findShims, pause, signalProcess, waitUntil } from '../../src/up/processes.ts';
import { WEB_IMAGE } from '../../src/up/images/catalogue.ts';
import { podName, TestAgent } from './support/agent.ts';
import type { TestContainerd } from './support/containerd.ts';
import { startContainerd } from './support/containerd.ts';
import { container, pod, shell } from './support/manifests.ts';
import { containerId, containerOf, isReady } from './support/watch.ts';

let containerd: TestContainerd;
let proxy: CriProxy;
let agent: TestAgent;

before(async () => {
  containerd = await startContainerd({ name: 'faults' });
  const listen = join(containerd.instance.dataDir, 'proxy.sock');
  proxy = new CriProxy({ listen, upstream: containerd.instance.containerdSocket, clock: systemClock });
  await proxy.start();
  // The timeout of hanging calls; upstream's two minutes are too long for a test.
  agent = await TestAgent.start(containerd, { endpoint: `unix://${listen}`, config: { runtimeRequestTimeout: '3s' } });
});
after(async () => {
  try {
    proxy?.clear();
    await agent?.stop();
  } finally {
    proxy?.close();
    await containerd?.stop();
  }
});
beforeEach(async () => {
  proxy.clear();
  await proxy.start();
  if (!agent.running) await agent.start();
});
afterEach(() => {
  proxy.clear();
});

/** `name attempt state` of a pod's containers. */
async function containersOf(name: string): Promise<string[]> {
  const { containers } = await containerd.cri.runtime.listContainers({
    filter: { labelSelector: { 'io.kubernetes.pod.name': podName(name) } },
  });
  return containers
    .map((item) => `${item.metadata?.name} ${item.metadata?.attempt} ${item.state === 1 ? 'running' : item.state}`)
    .sort();
}
async function sandboxesOf(name: string): Promise<{ id: string; attempt: number; ready: boolean }[]> {
  const { items } = await containerd.cri.runtime.listPodSandbox({
    filter: { labelSelector: { 'io.kubernetes.pod.name': podName(name) } },
  });
  return items.map((item) => ({ id: item.id, attempt: item.metadata?.attempt ?? -1, ready: item.state === 0 }));
}
const heldNow = (method: string) => (): boolean => proxy.counts(method).held > 0;

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  test(`containerd restarted by ${signal}: containers run on, nothing is restarted, and exits are seen again afterwards`, async () => {
    const name = `under-${signal.toLowerCase()}`;
    const before = await agent.run(
      pod(name, { containers: [container('main', { command: ['sleep', '100000'] }), container('other')] }),
    );
    const from = agent.watch.history.length;
    await containerd.restart(signal);
    await pause(1500);
    assert.deepEqual(
      agent.watch.history.slice(from).filter(({ pod: seen }) => seen.metadata.name === podName(name) && !isReady(seen)),
      [],
    );
    assert.deepEqual(await containersOf(name), ['main 0 running', 'other 0 running']);
    await containerd.cri.runtime.stopContainer({ containerId: containerId(before), timeout: 0 });
    const after = await agent.waitFor(
      name,
      'restarted',
      (seen) => containerOf(seen).restartCount === 1 && isReady(seen),
      15_000,
    );
    assert.equal(containerId(after, 'other'), containerId(before, 'other'));
    await agent.remove(name);
  });
}

test('containerd down for ten seconds: pods keep their status, and pending changes are applied afterwards', async () => {
  const before = await agent.run(pod('outage'));
  const from = agent.watch.history.length;
  await containerd.kill('SIGKILL');
  agent.writeManifest('wanted', pod('wanted'));
  await pause(10_000);
  assert.ok(isReady(agent.pod('outage')));
  assert.equal((await fetch(`http://127.0.0.1:${agent.healthzPort}/healthz`)).status, 200);
  assert.ok((await agent.cli('pods')).stdout.includes('outage'));
  await containerd.start();
  await agent.ready('wanted', 20_000);
  assert.equal(containerId(agent.pod('outage')), containerId(before));
  assert.deepEqual(
    agent.watch.history
      .slice(from)
      .filter(({ pod: seen }) => seen.metadata.name === podName('outage') && !isReady(seen)),
    [],
  );
  await agent.remove('outage', 'wanted');
});

test('frozen runtime: every call hangs, the agent stays awake, and goes on when it thaws', async () => {
  await agent.run(pod('frozen'));
  containerd.freeze();
  try {
    agent.writeManifest('thawed', pod('thawed'));
    await pause(4000);
    assert.ok(isReady(agent.pod('frozen')));
    assert.equal((await fetch(`http://127.0.0.1:${agent.healthzPort}/healthz`)).status, 200);
  } finally {
    containerd.thaw();
  }
  await agent.ready('thawed', 20_000);
  assert.deepEqual(await containersOf('frozen'), ['main 0 running']);
  await agent.remove('frozen', 'thawed');
});

test('an event stream that breaks again and again loses no exit', async () => {
  await agent.run(pod('deaf', { containers: [container('main', { command: ['sleep', '100000'] })] }));
  for (let round = 1; round <= 2; round++) {
    proxy.set('Subscribe', 'error(Unavailable: no events)');
    proxy.stop();
    await proxy.start();
    await containerd.cri.runtime.stopContainer({ containerId: containerId(agent.pod('deaf')), timeout: 0 });
    if (round === 1)
      await agent.waitFor(
        'deaf',
        'restarted without an event',
        (seen) => containerOf(seen).restartCount >= round && isReady(seen),
        20_000,
      );
    else
      await agent.waitFor(
        'deaf',
        'seen as exited without an event',
        (seen) => containerOf(seen).lastState?.terminated !== undefined,
        20_000,
      );
    proxy.clear('Subscribe');
  }
  await agent.remove('deaf');
});

test('CreateContainer that hangs is given up and done again; the pod gets ready', async () => {
  proxy.set('CreateContainer', '1*hang', { requestContains: 'hung-create' });
  agent.writeManifest('hung-create', pod('hung-create'));
  assert.ok(await waitUntil(heldNow('CreateContainer'), 10_000));
  const { blockers } = await agent.explained('hung-create', 'what it hangs in', (now) => now.blockers.length > 0);
  assert.ok(blockers.length > 0);
  // Another pod does not notice.
  await agent.run(pod('not-hung'));
  await agent.ready('hung-create', 30_000);
  await agent.remove('hung-create', 'not-hung');
});

for (const [method, what] of [
  ['CreateContainer', 'container'],
  ['RunPodSandbox', 'sandbox'],
] as const) {
  for (const fault of ['late', 'lost'] as const) {
    test(`a ${what} whose creation was not confirmed (${fault}) is adopted or removed, and never created twice`, async () => {
      const name = `${fault}-${what}`;
      proxy.set(method, `1*${fault}`, { requestContains: name });
      agent.writeManifest(name, pod(name));
      await agent.ready(name, 30_000);
      assert.equal((await containersOf(name)).filter((line) => line.endsWith('running')).length, 1);
      assert.equal((await sandboxesOf(name)).filter(({ ready }) => ready).length, 1, 'two sandboxes run');
      await agent.remove(name);
      assert.ok(
        await waitUntil(
          async () => (await containersOf(name)).length + (await sandboxesOf(name)).length === 0,
          10_000,
          50,
        ),
      );
    });
  }
}

test('StartContainer whose answer was lost is not started twice', async () => {
  proxy.set('StartContainer', '1*lost');
  agent.writeManifest('lost-start', pod('lost-start'));
  await agent.ready('lost-start', 30_000);
  assert.equal((await containersOf('lost-start')).filter((line) => line.endsWith('running')).length, 1);
  await agent.remove('lost-start');
});

test('a storm of RunPodSandbox errors is reported, backed off from, and survived', async () => {
  proxy.set('RunPodSandbox', '4*error(Unknown: no network today)', { requestContains: 'stormy' });
  agent.writeManifest('stormy', pod('stormy'));
  await agent.explained('stormy', 'the error', (now) =>
    now.blockers.some((blocker) => /no network today/.test(blocker.lastError ?? '')),
  );
  await agent.run(pod('calm'));
  await agent.ready('stormy', 60_000);
  await agent.remove('stormy', 'calm');
});

test('an end that succeeded is no failure, whatever the call to it came to', async () => {
  const closed = 'Unknown: failed to kill container: ttrpc: closed: unknown';
  for (const [name, fault] of [
    ['ends-lost', `1*lost(${closed})`],
    ['ends-early', `1*error(${closed})`],
  ] as const) {
    await agent.run(pod(name, { terminationGracePeriodSeconds: 1 }));
    // A stop of a container that never came to the runtime is made by the sandbox's.
    for (const method of [
      'StopPodSandbox',
      'RemovePodSandbox',
      'RemoveContainer',
      ...(fault.includes('lost') ? ['StopContainer'] : []),
    ])
      proxy.set(method, fault);
    await agent.remove(name);
    assert.ok(
      await waitUntil(
        async () => (await containersOf(name)).length + (await sandboxesOf(name)).length === 0,
        10_000,
        50,
      ),
      name,
    );
    proxy.clear();
  }
  const { items } = await agent.get<{ items: { reason: string; message: string }[] }>('/api/events');
  assert.deepEqual(
    items.filter(({ reason }) => reason === 'FailedKillPod'),
    [],
  );
});

test('a StopContainer that hangs holds up its own pod only, and ends', async () => {
  await Promise.all([
    agent.run(pod('stuck-stop', { terminationGracePeriodSeconds: 1 })),
    agent.run(pod('free-stop', { terminationGracePeriodSeconds: 1 })),
  ]);
  proxy.set('StopContainer', '1*hang', { requestContains: containerId(agent.pod('stuck-stop')) });
  agent.removeManifest('stuck-stop', 'free-stop');
  await agent.gone('free-stop', 15_000);
  await agent.gone('stuck-stop', 60_000);
});

test('the shim of a pod killed: its containers are found dead and the pod is created again', async () => {
  const before = await agent.run(
    pod('shimless', { containers: [container('main', { command: ['sleep', '100000'] })] }),
  );
  const [sandbox] = await sandboxesOf('shimless');
  const shim = findShims(containerd.shimsSocket).shims.find(({ pid }) =>
    readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(sandbox?.id ?? '?'),
  );
  assert.ok(shim);
  signalProcess(shim, 'SIGKILL');
  const after = await agent.waitFor(
    'shimless',
    'ready with a new sandbox',
    (seen) => isReady(seen) && containerId(seen) !== containerId(before),
    30_000,
  );
  assert.ok(containerOf(after).restartCount >= 1);
  assert.equal((await sandboxesOf('shimless')).filter(({ ready }) => ready).length, 1);
  await agent.remove('shimless');
});

test('a sandbox stopped by hand is replaced with the next attempt, and init containers run again', async () => {
  const before = await agent.run(
    pod('sandboxless', { initContainers: [container('init', { command: shell('true') })] }),
  );
  const [old] = await sandboxesOf('sandboxless');
  await containerd.cri.runtime.stopPodSandbox({ podSandboxId: old?.id ?? '' });
  // containerd kills the containers before the sandbox, so the agent may restart one in the old sandbox first.
  const after = await agent.waitFor(
    'sandboxless',
    'ready in a new sandbox',
    (seen) => isReady(seen) && containerId(seen, 'init') !== containerId(before, 'init'),
    30_000,
  );
  assert.notEqual(containerId(after), containerId(before));
  const ready = (await sandboxesOf('sandboxless')).filter((each) => each.ready);
  assert.deepEqual(
    ready.map(({ attempt }) => attempt),
    [1],
  );
  await agent.remove('sandboxless');
});

test('a container removed by hand is made again, counted as a restart', async () => {
  const before = await agent.run(pod('robbed', { containers: [container('main'), container('other')] }));
  await containerd.cri.runtime.stopContainer({ containerId: containerId(before), timeout: 0 });
  await containerd.cri.runtime.removeContainer({ containerId: containerId(before) });
  const after = await agent.waitFor(
    'robbed',
    'made again',
    (seen) => isReady(seen) && containerId(seen) !== containerId(before),
    30_000,
  );
  assert.equal(containerId(after, 'other'), containerId(before, 'other'));
  assert.equal(containerOf(after).restartCount, 1);
  await agent.remove('robbed');
});

test('containers of others, without the labels of Kubernetes, are left alone', async () => {
  const logDirectory = join(containerd.instance.podLogsDir, 'foreign');
  mkdirSync(logDirectory, { recursive: true });
  const config = {
    metadata: { name: 'foreign', namespace: 'x', uid: 'foreign', attempt: 0 },
    logDirectory,
    linux: { cgroupParent: containerd.cgroupPath('foreign') },
  };
  const { podSandboxId } = await containerd.cri.runtime.runPodSandbox({ config });
  try {
    const { containerId: id } = await containerd.cri.runtime.createContainer({
      podSandboxId,
      sandboxConfig: config,
      config: { metadata: { name: 'c', attempt: 0 }, image: { image: WEB_IMAGE }, logPath: 'c.log', linux: {} },
    });
    await containerd.cri.runtime.startContainer({ containerId: id });
    await agent.run(pod('native'));
    await agent.restart();
    await agent.ready('native');
    await agent.remove('native');
    await pause(1000);
    assert.equal((await containerd.cri.runtime.containerStatus({ containerId: id })).status?.state, 1);
  } finally {
    await containerd.cri.runtime.stopPodSandbox({ podSandboxId });
    await containerd.cri.runtime.removePodSandbox({ podSandboxId });
    await removeCgroupTree(containerd.cgroupPath('foreign'));
  }
});
