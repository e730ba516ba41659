// Pods of the API server on the real agent: their whole life, mirror pods, outages and kills, with the embedded control
// plane.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pods, resourceClaims, resourceSlices } from '../../src/api/client/resource-types.ts';
import type { Pod } from '../../src/api/core/pod.ts';
import { systemClock } from '../../src/base/clock.ts';
import { createPodResourcesClient } from '../../src/devices/pod-resources-server.ts';
import { WEB_USER_IMAGE } from '../../src/up/images/catalogue.ts';
import { eventually } from '../e2e/support/eventually.ts';
import { startCdiRuntime } from './support/cdi-runtime.ts';
import type { ClusterFixture } from './support/cluster-agent.ts';
import { startClusterAgent } from './support/cluster-agent.ts';
import { TestDraDriver } from './support/dra-driver.ts';
import { container, pod, shell } from './support/manifests.ts';

let fixture: ClusterFixture & { stop(): Promise<void> };
const namespace = 'default';
const seen: { atMs: number; type: string; pod: Pod }[] = [];
const stop = new AbortController();
const cdiFolder = mkdtempSync(join(tmpdir(), 'kts-cdi-'));

before(async () => {
  fixture = await startClusterAgent({
    name: 'cpods',
    runtime: (containerd) => startCdiRuntime(containerd, cdiFolder),
  });
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
  rmSync(cdiFolder, { recursive: true, force: true });
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

/** The status of the pod without times. */
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

test('a pod stays ready while its container is replaced by one of another image', async () => {
  await create(pod('patched', { nodeName: 'node' }));
  const ready = await until('patched', ({ pod: each }) => isReady(each));
  await fixture.cluster.kubectl(['set', 'image', 'pod/patched', `main=${WEB_USER_IMAGE}`]);
  const running = ({ pod: { status } }: { pod: Pod }): boolean =>
    status?.containerStatuses?.[0]?.restartCount === 1 && status.containerStatuses[0].state?.running !== undefined;
  const replaced = await until('patched', running);
  const between = seen.filter(
    ({ atMs, pod: each }) =>
      each.metadata.name === 'patched' && atMs >= ready.atMs && atMs <= replaced.atMs && !isReady(each),
  );
  assert.deepEqual(
    between.map(({ pod: each }) => each.status),
    [],
  );
  await fixture.cluster.kubectl(['delete', 'pod', 'patched', '--wait=false']);
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

test('a claim is allocated, prepared by its driver, used, kept over restarts, and unprepared after its pod', async () => {
  const { agent, cluster } = fixture;
  const [driverName, pool] = ['dra.test', { name: 'node', generation: 1, resourceSliceCount: 1 }];
  const slice = {
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceSlice',
    metadata: { name: 'node-dra.test' },
    spec: { driver: driverName, nodeName: 'node', pool, devices: [{ name: 'd0' }, { name: 'd1' }] },
  };
  const driver = new TestDraDriver(agent.rootDir, { name: driverName, node: 'node', cdiFolder, devices: ['d0'] });
  try {
    await driver.start();
    await driver.asked('registered');
    await create(slice);
    await create({
      apiVersion: 'resource.k8s.io/v1',
      kind: 'DeviceClass',
      metadata: { name: 'null' },
      spec: { extendedResourceName: 'dra.test/null' },
    });
    const devices = { requests: [{ name: 'r', exactly: { deviceClassName: 'null' } }] };
    await create({
      apiVersion: 'resource.k8s.io/v1',
      kind: 'ResourceClaimTemplate',
      metadata: { name: 'null', namespace },
      spec: { spec: { devices } },
    });
    await create(
      pod('claims', {
        terminationGracePeriodSeconds: 1,
        resourceClaims: [{ name: 'dev', resourceClaimTemplateName: 'null' }],
        containers: [container('main', { resources: { claims: [{ name: 'dev', request: 'r' }] } })],
      }),
    );
    const health = (of: string, from = 0) =>
      until(
        'claims',
        ({ pod: { status } }) =>
          status?.containerStatuses?.[0]?.allocatedResourcesStatus?.[0]?.resources?.[0]?.health === of,
        from,
      );
    const ready = await until('claims', ({ pod: each }) => isReady(each));
    const shown = (await health('Healthy', ready.atMs)).pod.status?.containerStatuses?.[0];
    assert.deepEqual(shown?.allocatedResourcesStatus, [
      { name: 'claim:dev/r', resources: [{ resourceID: 'dra.test/device=d0', health: 'Healthy' }] },
    ]);
    const inside = await fixture.containerd.cri.runtime.execSync({
      containerId: shown?.containerID?.replace('containerd://', '') ?? '',
      cmd: ['sh', '-c', 'test -c /dev/claimed-d0 && echo "$CLAIMED"'],
      timeout: 10,
    });
    assert.equal(Buffer.from(inside.stdout).toString().trim(), 'd0');
    const [claim] = (await cluster.client().list(resourceClaims, namespace)).items;
    assert.deepEqual(
      claim?.status?.allocation?.devices.results?.map(({ device }) => device),
      ['d0'],
    );
    const { uid, name } = claim?.metadata ?? {};
    assert.deepEqual(driver.calls('NodePrepareResources')[0]?.claims, [{ namespace, name, uid }]);

    const socketPath = join(agent.rootDir, 'pod-resources', 'kubelet.sock');
    const client = createPodResourcesClient({ socketPath, clock: systemClock });
    const { podResources } = await client.v1.get({ podName: 'claims', podNamespace: namespace });
    client.close();
    const [used] = podResources?.containers[0]?.dynamicResources ?? [];
    assert.deepEqual(
      [used?.claimName, used?.claimResources[0]?.deviceName, used?.claimResources[0]?.cdiDevices],
      [name, 'd0', [{ name: 'dra.test/device=d0' }]],
    );

    // The same through an extended resource, for which the scheduler makes the claim.
    await create(
      pod('extended', {
        terminationGracePeriodSeconds: 1,
        containers: [container('main', { resources: { limits: { 'dra.test/null': '1' } } })],
      }),
    );
    const { status: made } = (await until('extended', ({ pod: each }) => isReady(each))).pod;
    const own = made?.extendedResourceClaimStatus;
    assert.deepEqual(
      own?.requestMappings.map(({ containerName, requestName }) => `${containerName} ${requestName}`),
      ['main container-0-request-0'],
    );
    assert.equal(driver.calls('NodePrepareResources')[1]?.claims?.[0]?.name, own?.resourceClaimName);
    await cluster.kubectl(['delete', 'pod', 'extended']);
    await driver.asked('NodeUnprepareResources');

    const before = performance.now();
    driver.setHealth('sick');
    const sick = (await health('Unhealthy', before)).pod.status?.containerStatuses?.[0];
    assert.equal(sick?.allocatedResourcesStatus?.[0]?.resources?.[0]?.message, 'too hot');

    await agent.kill9();
    await agent.start();
    await driver.asked('registered', 2);
    await driver.asked('NodeWatchResources', 2);
    // A driver publishes again what the agent removes at its start.
    await eventually(async () => assert.deepEqual((await cluster.client().list(resourceSlices, '')).items.length, 0));
    assert.equal((await get('claims')).status?.containerStatuses?.[0]?.containerID, shown?.containerID);
    await cluster.kubectl(['delete', 'pod', 'claims']);
    const [, ended] = await driver.asked('NodeUnprepareResources', 2);
    assert.deepEqual(ended?.claims, [{ namespace, name, uid }]);
    await eventually(async () => assert.deepEqual((await cluster.client().list(resourceClaims, namespace)).items, []));
  } finally {
    await driver.dispose();
  }
});

test('neither a restart of the agent nor an API server that is away touches a pod, and an agent that starts without the API server has its pods', async () => {
  await create(pod('steady', { nodeName: 'node' }));
  const { pod: before } = await until('steady', ({ pod: each }) => isReady(each));
  await fixture.agent.kill9();
  await fixture.cluster.kill();
  await fixture.agent.start();
  const { agent } = fixture;
  // From the last state it received.
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
