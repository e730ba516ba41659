// Real memory pressure inside the cgroup of the pods, whose limit is far below the memory of the machine: what the node
// evicts, in which order, and what it reports.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { nodes, pods } from '../../src/api/client/resource-types.ts';
import type { Pod } from '../../src/api/core/pod.ts';
import { eventually } from '../e2e/support/eventually.ts';
import type { ClusterFixture } from './support/cluster-agent.ts';
import { startClusterAgent } from './support/cluster-agent.ts';
import { container, pod, shell } from './support/manifests.ts';

const MiB = 2 ** 20;
/** The limit of all pods together; above it the kernel kills their processes, and no others. */
const PODS_LIMIT_MIB = 700;
/** Pods are evicted when less than this is free. */
const THRESHOLD_MIB = 200;
const namespace = 'default';

let fixture: ClusterFixture & { stop(): Promise<void> };
let client: ReturnType<ClusterFixture['cluster']['client']>;

before(async () => {
  fixture = await startClusterAgent({
    name: 'evictmem',
    agent: {
      config: {
        systemReserved: { memory: `${Math.floor(totalmem() / MiB) - PODS_LIMIT_MIB}Mi` },
        evictionHard: { 'memory.available': `${THRESHOLD_MIB}Mi` },
        evictionPressureTransitionPeriod: '8s',
      },
    },
  });
  client = fixture.cluster.client();
});
after(() => fixture?.stop());

const get = (name: string): Promise<Pod> => client.get(pods, { namespace, name });
const create = (manifest: unknown): Promise<string> =>
  fixture.cluster.kubectl(['create', '-f', '-'], JSON.stringify(manifest));

async function until(name: string, accept: (seen: Pod) => boolean): Promise<Pod> {
  return await eventually(async () => {
    const seen = await get(name);
    assert.ok(accept(seen), `pod ${name}: ${JSON.stringify(seen.status)}`);
    return seen;
  }, 40_000);
}

const isReady = ({ status }: Pod): boolean =>
  status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') === true;
const isFailed = ({ status }: Pod): boolean => status?.phase === 'Failed';

async function memoryPressure(): Promise<string | undefined> {
  const node = await client.get(nodes, { namespace: '', name: 'node' });
  return node.status?.conditions?.find(({ type }) => type === 'MemoryPressure')?.status;
}

/** Fills a volume in memory: `stepMiB` every 0.1 s, up to `mostMiB`. The pod is charged for the memory. */
const filling = (stepMiB: number, mostMiB: number): string =>
  `i=0; while [ $i -lt ${Math.ceil(mostMiB / stepMiB)} ]; do dd if=/dev/zero of=/mem/$i bs=1M count=${stepMiB} 2>/dev/null; i=$((i+1)); sleep 0.1; done; sleep 2147483647`;
const inMemory = { name: 'mem', emptyDir: { medium: 'Memory' } };
const mounted = { volumeMounts: [{ name: 'mem', mountPath: '/mem' }] };

function user(name: string, script: string, more: Record<string, unknown> = {}, resources: object = {}): unknown {
  return pod(name, {
    nodeName: 'node',
    terminationGracePeriodSeconds: 30,
    volumes: [inMemory],
    containers: [container('main', { command: shell(script), resources, ...mounted })],
    ...more,
  });
}

/** How often the kernel killed a process of a pod because memory was short. */
function oomKills(): number {
  const group = join(fixture.containerd.cgroupRoot, 'kubepods');
  const file = [`/sys/fs/cgroup/memory/${group}/memory.oom_control`, `/sys/fs/cgroup/${group}/memory.events`].find(
    (path) => existsSync(path),
  );
  return Number(/oom_kill (\d+)/.exec(readFileSync(file ?? '', 'utf8'))?.[1] ?? NaN);
}

const PRESSURE_TAINT = 'node.kubernetes.io/memory-pressure:NoSchedule';

async function taints(): Promise<string[]> {
  const node = await client.get(nodes, { namespace: '', name: 'node' });
  return (node.spec?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);
}

test('a hog is evicted before the kernel kills, with the numbers in its status; pods within their requests stay', async (context) => {
  // Of equal use the one within its request stays, and so does the critical one without any request.
  await create(user('modest', filling(20, 60), {}, { requests: { memory: '128Mi' } }));
  await create(user('critical', filling(20, 100), { priorityClassName: 'system-node-critical' }));
  await Promise.all([until('modest', isReady), until('critical', isReady)]);
  assert.equal(await memoryPressure(), 'False');
  await create(user('hog', filling(20, 900)));
  const evicted = await until('hog', isFailed);
  const { status = {} } = evicted;
  assert.equal(status.reason, 'Evicted');
  assert.match(
    status.message ?? '',
    /^The node was low on resource: memory\. Threshold quantity: 200Mi, available: \d+Ki\. Container main was using \d+Ki, request is 0, has larger consumption of memory\. $/,
  );
  const disruption = status.conditions?.find(({ type }) => type === 'DisruptionTarget');
  assert.deepEqual([disruption?.status, disruption?.reason], ['True', 'TerminationByKubelet']);
  assert.notEqual(status.containerStatuses?.[0]?.state?.terminated?.reason, 'OOMKilled');
  assert.equal(oomKills(), 0);
  context.diagnostic(status.message ?? '');
  assert.equal(await memoryPressure(), 'True');
  await eventually(async () => assert.deepEqual(await taints(), [PRESSURE_TAINT]), 10_000);
  for (const name of ['modest', 'critical']) assert.ok(isReady(await get(name)), name);
  const explained = await fixture.agent.cli('explain', 'hog');
  assert.match(explained.stdout, /Evicted.*The node was low on resource: memory/s);
  context.diagnostic(explained.stdout);
});

test('memory pressure is detected less than 100 MiB below the threshold', async (context) => {
  const available = /available: (\d+)Ki/.exec((await get('hog')).status?.message ?? '')?.[1];
  const belowMiB = THRESHOLD_MIB - Number(available) / 1024;
  context.diagnostic(`noticed ${Math.round(belowMiB)} MiB below the threshold`);
  assert.ok(belowMiB >= 0 && belowMiB < 100);
});

test('a node under memory pressure takes no best-effort pod, but pods with requests and those that tolerate it', async () => {
  assert.equal(await memoryPressure(), 'True');
  await create(pod('besteffort', { nodeName: 'node' }));
  const refused = await until('besteffort', isFailed);
  assert.deepEqual(
    [refused.status?.reason, refused.status?.message],
    ['Evicted', 'Pod was rejected: The node had condition: [MemoryPressure]. '],
  );
  await create(
    pod('asking', {
      nodeName: 'node',
      containers: [container('main', { resources: { requests: { memory: '16Mi' } } })],
    }),
  );
  await until('asking', isReady);
});

test('the condition ends when the transition period is over, and metrics and events show the eviction', async () => {
  await eventually(async () => assert.equal(await memoryPressure(), 'False'), 30_000);
  await eventually(async () => assert.deepEqual(await taints(), []), 10_000);
  const { stdout } = await fixture.agent.cli('events', '-o', 'json');
  const { items } = JSON.parse(stdout) as {
    items: { reason: string; message: string; metadata: { annotations?: Record<string, string> } }[];
  };
  const event = items.find(({ reason }) => reason === 'Evicted');
  assert.deepEqual(
    [event?.metadata.annotations?.['offending_containers'], event?.metadata.annotations?.['starved_resource']],
    ['main', 'memory'],
  );
  assert.equal(items.find(({ reason }) => reason === 'EvictionThresholdMet')?.message, 'Attempting to reclaim memory');
  await create(pod('later', { nodeName: 'node' }));
  await until('later', isReady);
});
