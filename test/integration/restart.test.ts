// A restart of the agent must not affect pods, whatever it was doing and whatever happened to its files.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { CriProxy } from '../../src/cri/testing/cri-proxy.ts';
import { pause, waitUntil } from '../../src/up/processes.ts';
import { findLeftovers } from '../../src/up/teardown.ts';
import { podName, TestAgent } from './support/agent.ts';
import type { TestContainerd } from './support/containerd.ts';
import { endForgottenShims, startContainerd } from './support/containerd.ts';
import { configMap, container, pod, shell } from './support/manifests.ts';
import { containerOf, isReady } from './support/watch.ts';

const WRITES = [
  'RunPodSandbox',
  'StopPodSandbox',
  'RemovePodSandbox',
  'CreateContainer',
  'StartContainer',
  'StopContainer',
  'RemoveContainer',
  'UpdateContainerResources',
  'PullImage',
  'RemoveImage',
];

let containerd: TestContainerd;
let proxy: CriProxy;
let agent: TestAgent;

before(async () => {
  containerd = await startContainerd({ name: 'restart' });
  const listen = join(containerd.instance.dataDir, 'proxy.sock');
  proxy = new CriProxy({ listen, upstream: containerd.instance.containerdSocket, clock: systemClock });
  await proxy.start();
  agent = await TestAgent.start(containerd, { endpoint: `unix://${listen}` });
});
after(async () => {
  try {
    await agent?.stop();
  } finally {
    proxy?.close();
    await containerd?.stop();
  }
});

// A test that failed half-way must not take the others with it.
beforeEach(() => (agent.running ? undefined : agent.start()));

const writes = (): number => WRITES.reduce((sum, method) => sum + proxy.counts(method).received, 0);

/** All containers of the runtime: id, name, attempt and whether it runs. */
async function facts(prefix: string): Promise<string[]> {
  const { containers } = await containerd.cri.runtime.listContainers({});
  return containers
    .filter((item) => item.labels['io.kubernetes.pod.name']?.startsWith(prefix))
    .map(
      (item) =>
        `${item.labels['io.kubernetes.pod.name']} ${item.metadata?.name} ${item.metadata?.attempt} ${item.id} ${item.state}`,
    )
    .sort();
}

/** The changes of readiness or phase of these pods since `from`. */
function flaps(from: number, prefix: string): string[] {
  return agent.watch.history
    .slice(from)
    .filter(
      (change) => change.pod.metadata.name.startsWith(prefix) && (change.type === 'DELETED' || !isReady(change.pod)),
    )
    .map(({ type, pod: { metadata, status } }) => JSON.stringify({ type, name: metadata.name, status }));
}

/** The same numbers in every run, so that a failure can be repeated. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

test('killed or asked to end in a loop, with pods running: no container restarts, no pod flaps', async () => {
  const probes = {
    readinessProbe: { exec: { command: ['true'] }, periodSeconds: 1 },
    livenessProbe: { exec: { command: ['true'] }, periodSeconds: 1, failureThreshold: 1 },
    startupProbe: { exec: { command: ['true'] }, periodSeconds: 1 },
  };
  const names = ['steady-plain', 'steady-probed', 'steady-sidecar'];
  agent.writeManifest('steady-plain', pod('steady-plain', { containers: [container('main'), container('other')] }));
  agent.writeManifest('steady-probed', pod('steady-probed', { containers: [container('main', probes)] }));
  agent.writeManifest(
    'steady-sidecar',
    pod('steady-sidecar', {
      initContainers: [
        container('init', { command: shell('true') }),
        container('side', { restartPolicy: 'Always', ...probes }),
      ],
    }),
  );
  await Promise.all(names.map((name) => agent.ready(name)));
  // Probe results are written to disk with a short delay; a restart before that may lose them, but must not change
  // them.
  const before = await facts('steady');
  const transitions = names.map((name) => agent.pod(name).status?.conditions);
  const from = agent.watch.history.length;
  const random = randomFrom(11);
  // The simulation does this 300 times in a row (F2); here the runtime is real.
  for (let round = 0; round < 5; round++) {
    await agent.restart(round % 3 === 0 ? 'SIGTERM' : 'SIGKILL');
    await pause(random() * 400);
  }
  await pause(1500);
  assert.deepEqual(flaps(from, 'steady'), []);
  assert.deepEqual(await facts('steady'), before);
  assert.deepEqual(
    names.map((name) => agent.pod(name).status?.conditions),
    transitions,
    'conditions or their times changed',
  );
  await agent.remove(...names);
});

test('killed at random moments while pods are made and removed: each ends up once, or gone, with nothing left', async () => {
  const random = randomFrom(23);
  const wanted = new Set<string>();
  for (let round = 0; round < 6; round++) {
    const name = `churn-${round}`;
    agent.writeManifest(
      name,
      pod(name, {
        terminationGracePeriodSeconds: 1,
        initContainers: [container('init', { command: shell('true') })],
        containers: [container('main'), container('other')],
      }),
    );
    wanted.add(name);
    const victim = [...wanted][Math.floor(random() * wanted.size)];
    if (victim !== undefined && round % 2 === 1) {
      agent.removeManifest(victim);
      wanted.delete(victim);
    }
    await pause(random() * 500);
    await agent.restart(round % 4 === 0 ? 'SIGTERM' : 'SIGKILL');
  }
  await Promise.all([...wanted].map((name) => agent.ready(name)));
  const gone = await waitUntil(
    async () => (await agent.pods()).filter((each) => each.metadata.name.startsWith('churn')).length === wanted.size,
    20_000,
    50,
  );
  assert.ok(gone, `still there: ${(await agent.pods()).map((each) => each.metadata.name).join()}`);
  for (const name of wanted) {
    const seen = agent.pod(name);
    assert.deepEqual(
      ['main', 'other'].map((each) => containerOf(seen, each).state?.running !== undefined),
      [true, true],
      name,
    );
  }
  const running = (await facts('churn'))
    .filter((line) => line.endsWith(' 1'))
    .map((line) => line.split(' ').slice(0, 2).join(' '));
  assert.deepEqual(
    running,
    [...wanted].flatMap((name) => [`${podName(name)} main`, `${podName(name)} other`]).sort(),
    'not exactly one live instance of each container',
  );
  await clearDespiteContainerd();
  // Shims end a moment after their containers.
  const ended = await waitUntil(
    async () => (await findLeftovers(containerd.instance)).every((item) => !item.startsWith('process ')),
    3000,
    100,
  );
  if (!ended)
    console.log(`containerd forgot ${endForgottenShims(containerd)} shims without a container; ended by hand`);
  await agent.assertNoLeftovers();
});

/**
 * containerd 1.6 may lose a task when the StartContainer call that created it was interrupted: it reports the container
 * as exited, and refuses to remove it while it runs. No CRI call helps then, but a restart of containerd does.
 * Meanwhile the agent must report the cause, and it must continue automatically afterwards.
 */
async function clearDespiteContainerd(): Promise<void> {
  try {
    await agent.clear(15_000);
  } catch (error) {
    if (!/cannot delete running task/.test(String(error))) throw error;
    console.log('containerd lost track of a task; restarting it');
    await containerd.restart('SIGKILL');
    await agent.clear();
  }
}

test('after downtime the agent restarts exited containers, stops removed pods and starts new ones', async () => {
  await Promise.all(
    ['away-exit', 'away-gone', 'away-stays'].map((name) =>
      agent.run(
        pod(name, {
          terminationGracePeriodSeconds: 1,
          containers: [container('main', { command: ['sh', '-c', 'trap "exit 3" TERM; sleep 100000 & wait'] })],
        }),
      ),
    ),
  );
  await agent.handlesSigterm('away-exit');
  const id = (await facts('away-exit'))[0]?.split(' ')[3] ?? '';
  const stays = await facts('away-stays');
  const volumes = [{ name: 'v', configMap: { name: 'away-settings' } }];
  agent.writeManifest('away-settings', configMap('away-settings', { key: 'old' }));
  await agent.run(
    pod('away-shows', { volumes, containers: [container('main', { volumeMounts: [{ name: 'v', mountPath: '/v' }] })] }),
  );
  await agent.kill9();
  await containerd.cri.runtime.stopContainer({ containerId: id, timeout: 5 });
  agent.removeManifest('away-gone');
  agent.writeManifest('away-settings', configMap('away-settings', { key: 'new' }));
  agent.writeManifest('away-new', pod('away-new'));
  await agent.start();
  const back = await agent.waitFor(
    'away-exit',
    'restarted',
    (seen) => containerOf(seen).restartCount === 1 && isReady(seen),
  );
  assert.equal(containerOf(back).lastState?.terminated?.exitCode, 3);
  await Promise.all([agent.ready('away-new'), agent.ready('away-shows')]);
  assert.ok(
    await waitUntil(async () => (await agent.inside('away-shows', 'cat /v/key')) === 'new', 10_000, 50),
    'a ConfigMap that changed meanwhile is not shown',
  );
  assert.ok(
    await waitUntil(async () => (await facts('away-gone')).length === 0, 10_000, 50),
    'the pod whose manifest went is still there',
  );
  assert.deepEqual(await facts('away-stays'), stays);
  await agent.clear();
});

test('state files that are missing, empty, cut, full of noise: set aside loudly, and nothing restarts', async () => {
  // Without its records the agent cannot know the last result of a readiness probe: such a pod becomes ready again
  // after the next probe.
  const probed = container('main', { readinessProbe: { exec: { command: ['true'] }, periodSeconds: 1 } });
  await Promise.all([agent.run(pod('memory')), agent.run(pod('memory-probed', { containers: [probed] }))]);
  const before = await facts('memory');
  const from = agent.watch.history.length;
  const damage: [string, (path: string) => void][] = [
    ['removed', (path) => rmSync(path)],
    ['emptied', (path) => truncateSync(path, 0)],
    ['cut in half', (path) => truncateSync(path, Math.floor(readFileSync(path).length / 2))],
    [
      'noise',
      (path) => writeFileSync(path, Buffer.from(Array.from({ length: 300 }, (_, index) => (index * 37) % 256))),
    ],
    ['of another type', (path) => writeFileSync(path, '{"checksum":"x","value":[1,2]}')],
  ];
  const folders = ['agent-state', 'manifests-last-good'].map((name) => join(agent.rootDir, name));
  const files = (): string[] =>
    folders.flatMap((folder) =>
      existsSync(folder)
        ? readdirSync(folder, { recursive: true, withFileTypes: true })
            .filter((entry) => entry.isFile() && !entry.name.includes('.corrupt'))
            .map((entry) => join(entry.parentPath, entry.name))
        : [],
    );
  for (const [what, harm] of damage) {
    assert.equal(await agent.term(), 0);
    const harmed = files();
    assert.ok(harmed.length >= 1, `no state files found below ${folders.join()}`);
    for (const path of harmed) harm(path);
    const logBefore = agent.log.length;
    await agent.start();
    await Promise.all([agent.ready('memory'), agent.ready('memory-probed', 5000)]);
    if (what !== 'removed') {
      const said = agent.log.slice(logBefore);
      for (const path of harmed.filter((each) => each.includes('agent-state') && each.endsWith('.json')))
        assert.ok(
          said.split('\n').some((line) => line.startsWith('E') && line.includes(path)),
          `${what}: nothing was said about ${path}`,
        );
    }
  }
  await agent.term();
  rmSync(agent.rootDir + '/agent-state', { recursive: true });
  await agent.start();
  await agent.ready('memory');
  await pause(1200);
  assert.deepEqual(await facts('memory'), before);
  assert.deepEqual(flaps(from, podName('memory')), []);
  await agent.clear();
});

test('a second agent on the same folder refuses to start and disturbs nothing', async () => {
  await agent.run(pod('owned'));
  const before = await facts('owned');
  const second = await agent.spawnSecond();
  assert.equal(second.code, 1);
  assert.match(second.stderr, /already running on .*agent\/root/);
  assert.deepEqual(await facts('owned'), before);
  assert.ok((await agent.cli('pods')).stdout.includes('owned'), 'the first agent does not answer any more');
  await agent.clear();
});

/** The simulation does this with 110 pods (F47). The benchmark measures how long it takes with many pods. */
test('8 pods are adopted with no write to the runtime and no flap', async () => {
  const names = Array.from({ length: 8 }, (_, index) => `adopted-${index}`);
  for (const name of names) agent.writeManifest(name, pod(name, { terminationGracePeriodSeconds: 1 }));
  await Promise.all(names.map((name) => agent.ready(name, 60_000)));
  const before = await facts('adopted');
  const from = agent.watch.history.length;
  await agent.kill9();
  const writesBefore = writes();
  agent.spawn();
  const adopted = await waitUntil(
    async () => {
      const pods = await agent.pods().catch(() => []);
      return pods.length === names.length && pods.every(isReady);
    },
    10_000,
    50,
  );
  assert.ok(adopted, 'the pods are not adopted');
  await agent.watch.open(agent.socket);
  await pause(1000);
  assert.equal(
    writes() - writesBefore,
    0,
    `the runtime was written to: ${WRITES.filter((method) => proxy.counts(method).received > 0).join()}`,
  );
  assert.deepEqual(await facts('adopted'), before);
  assert.deepEqual(flaps(from, 'adopted'), []);
  await agent.clear(60_000);
});
