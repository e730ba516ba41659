// The agent with an API server that refuses calls, loses objects and returns wrong answers, as a node of the embedded
// control plane: running containers are not touched, and everything is reported at the end.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { nodes, pods } from '../../src/api/client/resource-types.ts';
import type { Pod } from '../../src/api/core/pod.ts';
import { seededRandom } from '../../src/base/random.ts';
import type { TestCluster } from '../e2e/support/cluster.ts';
import { startCluster } from '../e2e/support/cluster.ts';
import { eventually } from '../e2e/support/eventually.ts';
import { TestAgent } from './support/agent.ts';
import { nodeReady, writeNodeKubeconfig } from './support/cluster-agent.ts';
import type { TestContainerd } from './support/containerd.ts';
import { startContainerd } from './support/containerd.ts';
import type { Fault, FaultProxy } from './support/fault-proxy.ts';
import { startFaultProxy } from './support/fault-proxy.ts';
import { pod } from './support/manifests.ts';
import { startTogether } from './support/start-together.ts';

let cluster: TestCluster;
let containerd: TestContainerd;
let agent: TestAgent;
let proxy: FaultProxy;
const folder = mkdtempSync(join(tmpdir(), 'kts-faults-'));
const namespace = 'default';

before(async () => {
  [containerd, cluster] = await startTogether(startContainerd({ name: 'apifaults' }), startCluster());
  const made = await startFaultProxy(cluster);
  proxy = made;
  const kubeconfig = await writeNodeKubeconfig(
    { folder: cluster.folder, port: proxy.port },
    join(folder, 'kubelet.conf'),
  );
  made.identify(kubeconfig);
  agent = await TestAgent.prepare(containerd, { args: ['--kubeconfig', kubeconfig] });
  await agent.start();
  await nodeReady(cluster);
  await create('steady');
  await ready('steady');
});
after(async () => {
  proxy?.set(() => undefined);
  await cluster?.tryKubectl(['delete', 'pods', '--all', '--grace-period=1', '--wait=false']);
  await agent?.stop();
  await containerd?.stop();
  await cluster?.stop();
  proxy?.close();
  rmSync(folder, { recursive: true, force: true });
});

const create = (name: string): Promise<string> =>
  cluster.kubectl(
    ['create', '-f', '-'],
    JSON.stringify(pod(name, { nodeName: 'node', terminationGracePeriodSeconds: 1 })),
  );
const ready = (...names: string[]): Promise<string> =>
  cluster.kubectl(['wait', ...names.map((name) => `pod/${name}`), '--for=condition=Ready', '--timeout=60s']);
const get = (name: string): Promise<Pod> => cluster.client().get(pods, { namespace, name });
const runOf = (each: Pod): unknown =>
  each.status?.containerStatuses?.map(({ containerID, restartCount }) => [containerID, restartCount]);

/** What must not change for running pods: their containers, and since when the pods and the node are ready. */
async function whatHolds(): Promise<unknown> {
  const [steady, node] = [await get('steady'), await cluster.client().get(nodes, { namespace: '', name: 'node' })];
  const since = [steady, node]
    .map(({ status }) => status?.conditions?.find(({ type }) => type === 'Ready'))
    .map((condition) => [condition?.status, condition?.lastTransitionTime]);
  return [steady.metadata.uid, runOf(steady), since];
}

/** Every seventh call fails in one of several ways; the same seed gives the same faults. */
function storm(seed: number): () => Fault | undefined {
  const random = seededRandom(seed);
  const faults: Fault[] = [
    { kind: 'answer', code: 500, reason: 'InternalError' },
    { kind: 'answer', code: 429, reason: 'TooManyRequests', retryAfterSeconds: 1 },
    { kind: 'answer', code: 409, reason: 'Conflict' },
    { kind: 'answer', code: 410, reason: 'Expired' },
    { kind: 'lost' },
    { kind: 'truncated' },
    { kind: 'late', ms: 300 },
  ];
  return () => (random.next() < 0.15 ? faults[Math.floor(random.next() * faults.length)] : undefined);
}

test('pods come and go through a storm of refusals, lost and broken answers', async () => {
  const before = await whatHolds();
  proxy.set(storm(5));
  proxy.drop();
  await create('one');
  await ready('one');
  await cluster.kubectl(['delete', 'pod', 'one', '--timeout=60s']);
  proxy.set(() => undefined);
  assert.deepEqual(await whatHolds(), before);
});

test('a node whose rights are taken away goes on with what it has, and on from there when they are back', async () => {
  const before = await whatHolds();
  for (const [code, reason, name] of [
    [401, 'Unauthorized', 'later-1'],
    [403, 'Forbidden', 'later-2'],
  ] as const) {
    proxy.set(() => ({ kind: 'answer', code, reason }));
    proxy.drop();
    const from = proxy.calls.length;
    await create(name);
    await eventually(async () => assert.ok(proxy.calls.length > from + 5));
    assert.ok(agent.running);
    proxy.set(() => undefined);
    await ready(name);
  }
  await cluster.kubectl(['delete', 'pod', 'later-1', 'later-2']);
  assert.deepEqual(await whatHolds(), before);
});

test('a pod that was replaced by another of its name while the API server was unreachable ends, and the new one runs', async () => {
  await create('again');
  await ready('again');
  const old = await get('again');
  proxy.set(() => ({ kind: 'cut' }));
  proxy.drop();
  await cluster.kubectl(['delete', 'pod', 'again', '--force', '--grace-period=0']);
  await create('again');
  proxy.set(() => undefined);
  await ready('again');
  const now = await get('again');
  assert.notEqual(now.metadata.uid, old.metadata.uid);
  assert.notDeepEqual(runOf(now), runOf(old));
  await cluster.kubectl(['delete', 'pod', 'again']);
});

test('a mirror pod gets the status of its pod each time it is recreated', async () => {
  agent.writeManifest('shown', pod('shown'));
  const shown = async (not: string[]): Promise<Pod> => {
    await cluster.kubectl(['wait', 'pod/shown-node', '--for=create', '--timeout=20s']);
    return await eventually(async () => {
      const each = await get('shown-node');
      assert.ok(!not.includes(each.metadata.uid) && each.status?.phase === 'Running');
      return each;
    });
  };
  const first = await shown([]);
  const uids = [first.metadata.uid];
  for (let at = 0; at < 3; at++) {
    await cluster.kubectl(['delete', 'pod', 'shown-node', '--force', '--grace-period=0']);
    const next = await shown(uids);
    assert.deepEqual(runOf(next), runOf(first));
    uids.push(next.metadata.uid);
  }
  agent.removeManifest('shown');
});

test('events and requests go no faster than eventRecordQPS and kubeAPIQPS let them', async () => {
  const before = await whatHolds();
  agent.writeConfig({ eventRecordQPS: 1, eventBurst: 1, kubeAPIQPS: 5, kubeAPIBurst: 5 });
  const [from, beganMs] = [proxy.calls.length, performance.now()];
  await agent.restart();
  const names = ['limited-1', 'limited-2', 'limited-3', 'limited-4'];
  for (const name of names) await create(name);
  await ready(...names);
  const calls = proxy.calls.slice(from);
  const seconds = (performance.now() - beganMs) / 1000;
  const events = calls.filter(({ method, path }) => method !== 'GET' && path.includes('/events'));
  // Each pod has four: Pulled, Created and Started, and an event of the node about its start.
  assert.ok(events.length > 0 && events.length <= 1 + seconds, `${events.length} events in ${seconds} s`);
  // Leases are never held back, and there is one write of them in ten seconds.
  const others = calls.filter(({ path }) => !path.includes('/events') && !path.includes('/leases'));
  // Statuses have a budget of their own, of the same size.
  const most = 2 * (5 + 5 * seconds);
  assert.ok(others.length <= most, `${others.length} requests in ${seconds} s`);
  await cluster.kubectl(['delete', 'pod', ...names]);
  agent.writeConfig();
  await agent.restart();
  assert.deepEqual(await whatHolds(), before);
});

test('a cluster that was put back to an earlier copy of its store gets its node and pods as they were then, and what runs of it runs on', async () => {
  const before = await whatHolds();
  await cluster.kill();
  const copy = mkdtempSync(join(tmpdir(), 'kts-copy-'));
  cpSync(cluster.folder, copy, { recursive: true });
  await cluster.start();
  await create('unknown-then');
  await ready('unknown-then');
  await cluster.kill();
  cpSync(copy, cluster.folder, { recursive: true });
  rmSync(copy, { recursive: true });
  await cluster.start();
  await create('after');
  await ready('after');
  assert.deepEqual(await whatHolds(), before);
  await eventually(async () =>
    assert.ok(!(await agent.pods()).some(({ metadata }) => metadata.name === 'unknown-then')),
  );
  await cluster.kubectl(['delete', 'pod', 'after']);
});
