// Pods of the API server on the real agent: from kubectl run to gone, static pods' mirrors, outages and kills, beside
// the embedded control plane.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { pods } from '../../src/api/client/resource-types.ts';
import type { Pod } from '../../src/api/core/pod.ts';
import { eventually } from '../e2e/support/eventually.ts';
import type { ClusterFixture } from './support/cluster-agent.ts';
import { startClusterAgent } from './support/cluster-agent.ts';
import { container, pod, shell } from './support/manifests.ts';

let fixture: ClusterFixture & { stop(): Promise<void> };
const namespace = 'default';
const seen: { atMs: number; type: string; pod: Pod }[] = [];
const stop = new AbortController();

before(async () => {
  fixture = await startClusterAgent({ name: 'cpods' });
  const follow = async (): Promise<void> => {
    for await (const event of fixture.cluster.client().watch(pods, '', {}, stop.signal)) {
      if (event.type === 'ADDED' || event.type === 'MODIFIED' || event.type === 'DELETED')
        seen.push({ atMs: performance.now(), type: event.type, pod: event.object });
    }
  };
  void follow().catch(() => undefined);
});
after(async () => {
  stop.abort();
  await fixture?.stop();
});

const isReady = ({ status }: Pod): boolean =>
  status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') === true;
const get = (name: string): Promise<Pod> => fixture.cluster.client().get(pods, { namespace, name });

async function until(
  name: string,
  what: (change: { type: string; pod: Pod }) => boolean,
  from = 0,
): Promise<{ atMs: number; pod: Pod }> {
  return await eventually(async () => {
    const found = seen.find((change) => change.atMs >= from && change.pod.metadata.name === name && what(change));
    assert.ok(
      found,
      `pod ${name}: ${JSON.stringify(seen.filter((change) => change.pod.metadata.name === name).at(-1)?.pod.status)}`,
    );
    return found;
  }, 30_000);
}

const create = (manifest: unknown): Promise<string> =>
  fixture.cluster.kubectl(['create', '-f', '-'], JSON.stringify(manifest));

/** What is said of the pod, without when. */
const withoutTimes = (status: unknown): string =>
  JSON.stringify(status, (key, value: unknown) => (/Time$|At$/.test(key) ? undefined : value));

test('a pod of kubectl comes up, and is gone from the API when nothing of it is left on the node', async (context) => {
  await create(pod('first', { nodeName: 'node' }));
  const made = await until('first', ({ type }) => type === 'ADDED');
  const ready = await until('first', ({ pod: each }) => isReady(each));
  assert.deepEqual(
    [ready.pod.status?.phase, ready.pod.status?.observedGeneration, ready.pod.status?.podIPs?.length],
    ['Running', 1, 1],
  );
  await fixture.cluster.kubectl(['delete', 'pod', 'first', '--wait=false']);
  const marked = await until('first', ({ pod: each }) => each.metadata.deletionTimestamp !== undefined);
  const gone = await until('first', ({ type }) => type === 'DELETED');
  assert.equal(gone.pod.status?.phase, 'Succeeded');
  context.diagnostic(
    `create to Ready ${Math.round(ready.atMs - made.atMs)} ms; deletion to gone ${Math.round(gone.atMs - marked.atMs)} ms`,
  );
});

test('a pod that ends, one that does not fit and one that is deleted by force are reported as they are', async () => {
  await create(
    pod('ends', {
      nodeName: 'node',
      restartPolicy: 'Never',
      containers: [container('main', { command: shell('exit 3') })],
    }),
  );
  await create(
    pod('big', { nodeName: 'node', containers: [container('main', { resources: { requests: { memory: '900Gi' } } })] }),
  );
  await create(pod('forced', { nodeName: 'node', terminationGracePeriodSeconds: 1 }));
  const ended = await until('ends', ({ pod: each }) => each.status?.phase === 'Failed');
  assert.equal(ended.pod.status?.containerStatuses?.[0]?.state?.terminated?.exitCode, 3);
  const refused = await until('big', ({ pod: each }) => each.status?.phase === 'Failed');
  assert.equal(refused.pod.status?.reason, 'OutOfmemory');
  const running = await until('forced', ({ pod: each }) => isReady(each));
  await fixture.cluster.kubectl(['delete', 'pod', 'forced', '--force', '--grace-period=0']);
  // A new one of the name has nothing of the old.
  await create(pod('forced', { nodeName: 'node', terminationGracePeriodSeconds: 1 }));
  const again = await until(
    'forced',
    ({ pod: each }) => isReady(each) && each.metadata.uid !== running.pod.metadata.uid,
  );
  assert.notEqual(
    again.pod.status?.containerStatuses?.[0]?.containerID,
    running.pod.status?.containerStatuses?.[0]?.containerID,
  );
  await fixture.cluster.kubectl(['delete', 'pod', 'ends', 'big', 'forced']);
});

test('a static pod is shown in the API, even after a deletion there, and removed with its manifest', async () => {
  fixture.agent.writeManifest('shown', pod('shown'));
  const first = await until('shown-node', ({ pod: each }) => isReady(each));
  assert.deepEqual(
    [first.pod.metadata.annotations?.['kubernetes.io/config.source'], first.pod.metadata.ownerReferences?.[0]?.kind],
    ['file', 'Node'],
  );
  const id = first.pod.status?.containerStatuses?.[0]?.containerID;
  await fixture.cluster.kubectl(['delete', 'pod', 'shown-node']);
  const again = await until(
    'shown-node',
    ({ pod: each }) => isReady(each) && each.metadata.uid !== first.pod.metadata.uid,
  );
  assert.equal(again.pod.status?.containerStatuses?.[0]?.containerID, id);
  fixture.agent.removeManifest('shown');
  await until(
    'shown-node',
    ({ type, pod: each }) => type === 'DELETED' && each.metadata.uid === again.pod.metadata.uid,
  );
});

test('neither a restart of the agent nor an API server that is away touches a pod, and an agent that starts without the API server has its pods', async () => {
  await create(pod('steady', { nodeName: 'node' }));
  const { pod: before } = await until('steady', ({ pod: each }) => isReady(each));
  await fixture.agent.kill9();
  await fixture.cluster.kill();
  await fixture.agent.start();
  const { agent } = fixture;
  // From what it was told last.
  const known = await eventually(async () => {
    const found = (await agent.pods()).find(({ metadata }) => metadata.name === 'steady');
    assert.ok(found !== undefined && isReady(found));
    return found;
  });
  assert.equal(known.status?.containerStatuses?.[0]?.containerID, before.status?.containerStatuses?.[0]?.containerID);
  await fixture.cluster.start();
  await create(pod('after', { nodeName: 'node' }));
  await fixture.cluster.kubectl(['wait', 'pod/after', '--for=condition=Ready', '--timeout=20s']);
  const after = await get('steady');
  assert.equal(withoutTimes(after.status), withoutTimes(before.status));
  assert.deepEqual(after.status?.conditions, before.status?.conditions);
  await fixture.cluster.kubectl(['delete', 'pod', 'steady', 'after']);
});
