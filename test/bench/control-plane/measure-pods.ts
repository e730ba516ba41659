/** A hundred fake nodes: idle; a thousand pods to schedule; and thousands of existing pods that are listed. */
import { pods as podType } from '../../../src/api/client/resource-types.ts';
import { pause, waitUntil } from '../../../src/up/processes.ts';
import { startCluster } from '../../e2e/support/cluster.ts';
import type { TestCluster } from '../../e2e/support/cluster.ts';
import { processCpuMs, residentMib } from '../process-figures.ts';
import type { StageContext } from './context.ts';
import { withLoad } from './load-process.ts';
import type { LoadProcess } from './load-process.ts';

const NODES = 100;
const SCHEDULED = 1000;
const CLIENTS = 8;
const WATCHERS = 50;
const SETTLE_MS = 5000;
const LIMIT_MS = 120_000;
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
const WARM_LISTS = 5;

export async function measurePods(context: StageContext): Promise<void> {
  const { options, add, defer } = context;
  const cluster = await startCluster({ nodes: NODES });
  defer(() => cluster.stop());
  await withLoad(async (load) => {
    await pause(SETTLE_MS);
    const idleMs = processCpuMs(cluster.pid());
    await pause(options.idleSeconds * 1000);
    add({
      name: 'idle-cpu',
      title: `idle with ${NODES} nodes and their leases: processor`,
      unit: 'mcpu',
      agent: [(processCpuMs(cluster.pid()) - idleMs) / options.idleSeconds],
      floor: [],
    });
    await measureScheduling(cluster, load, context);
    await load.run('creates', {
      kubeconfig: cluster.kubeconfig,
      kind: 'pods',
      clients: CLIENTS,
      count: options.pods - SCHEDULED,
      prefix: 'more',
      schedulerName: 'default-scheduler',
    });
    await untilNone(cluster, 'status.phase!=Running');
    await measureMemory(cluster, context);
    await measureLists(cluster, load, context);
  });
}

async function measureScheduling(cluster: TestCluster, load: LoadProcess, { add }: StageContext): Promise<void> {
  const beforeMs = processCpuMs(cluster.pid());
  const startMs = performance.now();
  const created = await load.run('creates', {
    kubeconfig: cluster.kubeconfig,
    kind: 'pods',
    clients: CLIENTS,
    count: SCHEDULED,
    prefix: 'first',
    schedulerName: 'default-scheduler',
  });
  await untilNone(cluster, 'spec.nodeName=');
  const seconds = (performance.now() - startMs) / 1000;
  add({
    name: 'scheduling',
    title: `${SCHEDULED} pods created and bound over ${NODES} nodes`,
    unit: '/s',
    agent: [SCHEDULED / seconds],
    floor: [],
    target: { kind: 'atLeast', value: 200 },
  });
  add({ name: 'scheduling-creates', title: '  of which: created', unit: '/s', agent: [created.perSecond], floor: [] });
  await untilNone(cluster, 'status.phase!=Running');
  add({
    name: 'scheduling-running',
    title: '  and said to be running',
    unit: '/s',
    agent: [(SCHEDULED * 1000) / (performance.now() - startMs)],
    floor: [],
  });
  add({
    name: 'scheduling-cpu',
    title: '  processor time of one, from its creation to running',
    unit: 'µs',
    agent: [((processCpuMs(cluster.pid()) - beforeMs) * 1000) / SCHEDULED],
    floor: [],
  });
}

async function untilNone(cluster: TestCluster, fieldSelector: string): Promise<void> {
  const client = cluster.client();
  const none = await waitUntil(
    async () => (await client.list(podType, 'default', { fieldSelector, limit: 1 })).items.length === 0,
    LIMIT_MS,
    50,
  );
  if (!none) throw new Error(`after ${LIMIT_MS / 1000} s there are still pods with ${fieldSelector}`);
}

/** With watchers that have listed before and start where their list ended. */
async function measureMemory(cluster: TestCluster, { options, add }: StageContext): Promise<void> {
  const { resourceVersion } = await cluster.client().list(podType, 'default', { limit: 1 });
  await withLoad(async (watchers) => {
    await watchers.run('openWatches', {
      kubeconfig: cluster.kubeconfig,
      path: `/api/v1/pods?watch=true&resourceVersion=${resourceVersion}`,
      count: WATCHERS,
    });
    const memory: number[] = [];
    for (let i = 0; i < 10; i++) {
      await pause(SETTLE_MS / 10);
      memory.push(residentMib(cluster.pid()));
    }
    add({
      name: 'pods-memory',
      title: `${options.pods} pods and ${WATCHERS} watchers: memory (RSS)`,
      unit: 'MiB',
      agent: memory,
      floor: [],
      target: { kind: 'atMost', value: 300 },
      upstream: '820 MiB',
    });
  });
}

/** Right after the start of the control plane, before any other request. */
async function measureLists(cluster: TestCluster, load: LoadProcess, { options, add }: StageContext): Promise<void> {
  await cluster.kill();
  const startMs = performance.now();
  await cluster.start();
  add({
    name: 'pods-start',
    title: `started over ${options.pods} pods -> serving`,
    unit: 'ms',
    agent: [performance.now() - startMs],
    floor: [],
  });
  // The nodes come back, and what controllers begin with ends.
  await pause(SETTLE_MS);
  const target = { kind: 'atMost', value: 400 } as const;
  const forms = [
    { name: 'list', title: `list of ${options.pods} pods`, query: '', accept: 'application/json' },
    { name: 'list-table', title: '  as a table', query: '', accept: TABLE },
    {
      name: 'list-label',
      title: '  nine of ten, by label',
      query: '?labelSelector=app%3Dweb,group!%3Dfew',
      accept: 'application/json',
    },
  ];
  for (const { name, title, query, accept } of forms) {
    const { ms, bytes } = await load.run('lists', {
      kubeconfig: cluster.kubeconfig,
      path: `/api/v1/pods${query}`,
      accept,
      count: 1 + WARM_LISTS,
    });
    const [first = 0, ...warm] = ms;
    add({
      name: `${name}-first`,
      title: `${title} (${(bytes / 2 ** 20).toFixed(1)} MiB): the first`,
      unit: 'ms',
      agent: [first],
      floor: [],
      target,
    });
    add({ name: `${name}-warm`, title: `${title}: again`, unit: 'ms', agent: warm, floor: [], target });
  }
  add({
    name: 'pods-memory-lists',
    title: '  memory (RSS) after these',
    unit: 'MiB',
    agent: [residentMib(cluster.pid())],
    floor: [],
  });
}
