/** Eight clients that write and read, on one of the stores; beside them the same puts on the bare store. Before that: how it starts, and what it takes idle. */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { pause } from '../../../src/up/processes.ts';
import { startCluster } from '../../e2e/support/cluster.ts';
import type { TestCluster } from '../../e2e/support/cluster.ts';
import { startEtcd } from '../../integration/support/etcd.ts';
import type { TestEtcd } from '../../integration/support/etcd.ts';
import { processCpuMs, residentMib } from '../process-figures.ts';
import type { Row } from '../report.ts';
import type { StageContext } from './context.ts';
import type { Rates } from './load-jobs.ts';
import { withLoad } from './load-process.ts';
import type { LoadProcess } from './load-process.ts';

export type Store = 'sqlite' | 'etcd';

const CLIENTS = 8;
/** About as long as a ConfigMap of the bench in the store, managed fields and all. */
const VALUE = 'x'.repeat(600);
const FLOOR_SECONDS = 1.5;
/** A get every so often, beside the writers: enough to know its delay, too few to take much. */
const GET_EVERY_MS = 5;
const SETTLE_MS = 5000;
const MEMORY_SAMPLES = 5;
const NAMES: Record<Store, string> = { sqlite: 'SQLite', etcd: 'etcd' };

export async function measureStore(store: Store, context: StageContext): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'kts-bench-floor-'));
  const etcd = store === 'etcd' ? await startEtcd() : undefined;
  try {
    const cluster = await startCluster(etcd === undefined ? {} : { etcd });
    try {
      await measureIdle(store, cluster, context);
      await withLoad(async (load) => {
        await measureConfigMaps({ store, cluster, load, floor: floorOf(load, folder, etcd), context });
        await measurePodsAndGets({ store, cluster, load, context });
      });
    } finally {
      await cluster.stop();
    }
  } finally {
    await etcd?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

const floorOf = (load: LoadProcess, folder: string, etcd: TestEtcd | undefined) => (): Promise<Rates> =>
  etcd === undefined ? load.run('sqlitePuts', { folder, clients: CLIENTS, seconds: FLOOR_SECONDS, value: VALUE }) : load.run('etcdPuts', { endpoint: etcd.endpoint, clients: CLIENTS, seconds: FLOOR_SECONDS, value: VALUE });

async function measureIdle(store: Store, cluster: TestCluster, { options, add }: StageContext): Promise<void> {
  const started: number[] = [];
  // On etcd a control plane that was killed holds the lead until its lease ends.
  for (let i = 0; i < (store === 'sqlite' ? options.startups : 0); i++) {
    await cluster.kill();
    const startMs = performance.now();
    await cluster.start();
    started.push(performance.now() - startMs);
  }
  await pause(SETTLE_MS);
  const memory: number[] = [];
  for (let i = 0; i < MEMORY_SAMPLES; i++) {
    memory.push(residentMib(cluster.pid()));
    await pause(200);
  }
  if (started.length > 0) add({ name: `start-${store}`, title: `${NAMES[store]}: started -> serving`, unit: 'ms', agent: started, floor: [] });
  add({ name: `idle-memory-${store}`, title: `${NAMES[store]}: idle: memory (RSS)`, unit: 'MiB', agent: memory, floor: [], target: { kind: 'atMost', value: 130 } });
}

interface StoreUnderLoad {
  readonly store: Store;
  readonly cluster: TestCluster;
  readonly load: LoadProcess;
  readonly context: StageContext;
}

async function measureConfigMaps({ store, cluster, load, context, floor }: StoreUnderLoad & { readonly floor: () => Promise<Rates> }): Promise<void> {
  const { options, add } = context;
  const { kubeconfig } = cluster;
  const taken: { creates: Rates; gets: Rates; floor: Rates; mcpu: number }[] = [];
  await load.run('creates', { kubeconfig, kind: 'configmaps', clients: CLIENTS, seconds: 1, prefix: 'warm' });
  for (let round = 0; round < options.rounds; round++) {
    const bare = await floor();
    const beforeMs = processCpuMs(cluster.pid());
    // The gets' process is another, so that what its own event loop is late with is not the server's.
    const [creates, gets] = await withLoad((reader) =>
      Promise.all([
        load.run('creates', { kubeconfig, kind: 'configmaps', clients: CLIENTS, seconds: options.roundSeconds, prefix: `round-${round}` }),
        reader.run('gets', { kubeconfig, path: '/api/v1/namespaces/default/configmaps/warm-0', clients: 1, seconds: options.roundSeconds, everyMs: GET_EVERY_MS }),
      ]),
    );
    taken.push({ creates, gets, floor: bare, mcpu: (processCpuMs(cluster.pid()) - beforeMs) / options.roundSeconds });
  }
  const rate = (rates: Rates): number => rates.perSecond;
  const [creates, floors] = [taken.map((each) => each.creates), taken.map((each) => each.floor)];
  const ms = (name: string, title: string, from: (round: (typeof taken)[number]) => number, extra: Partial<Row> = {}): void =>
    add({ name: `${name}-${store}`, title, unit: 'ms', agent: taken.map(from), floor: [], ...extra });
  add({ name: `configmaps-${store}`, title: `${NAMES[store]}: ${CLIENTS} clients create ConfigMaps`, unit: '/s', agent: creates.map(rate), floor: floors.map(rate), target: { kind: 'atLeast', value: 1000 }, ...(store === 'etcd' && { upstream: '620 /s' }) });
  ms('configmaps-p50', '  the median answer', (round) => round.creates.p50Ms, { floor: store === 'etcd' ? floors.map(({ p50Ms }) => p50Ms) : [] });
  ms('configmaps-p99', '  the 99th of 100', (round) => round.creates.p99Ms, { floor: store === 'etcd' ? floors.map(({ p99Ms }) => p99Ms) : [] });
  ms('get-p50', '  a get meanwhile: the median', (round) => round.gets.p50Ms);
  ms('get-p99', '  a get meanwhile: the 99th of 100', (round) => round.gets.p99Ms, { target: { kind: 'atMost', value: 10 } });
  add({ name: `configmaps-cpu-${store}`, title: '  processor', unit: 'mcpu', agent: taken.map(({ mcpu }) => mcpu), floor: [] });
}

async function measurePodsAndGets({ store, cluster, load, context: { options, add } }: StoreUnderLoad): Promise<void> {
  const { kubeconfig } = cluster;
  // Pods are admitted with it only.
  await cluster.kubectl(['wait', '--for=create', 'serviceaccount/default', '--timeout=30s']);
  const pods: Rates[] = [];
  const gets: Rates[] = [];
  for (let round = 0; round < options.rounds; round++) {
    pods.push(await load.run('creates', { kubeconfig, kind: 'pods', clients: CLIENTS, seconds: options.roundSeconds, prefix: `round-${round}` }));
    gets.push(await load.run('gets', { kubeconfig, path: '/api/v1/namespaces/default/configmaps/warm-0', clients: CLIENTS, seconds: options.roundSeconds / 2 }));
  }
  add({ name: `pods-${store}`, title: `${NAMES[store]}: ${CLIENTS} clients create pods`, unit: '/s', agent: pods.map(({ perSecond }) => perSecond), floor: [], target: { kind: 'atLeast', value: 1000 }, ...(store === 'etcd' && { upstream: '450 /s' }) });
  add({ name: `pods-p99-${store}`, title: '  the 99th of 100', unit: 'ms', agent: pods.map(({ p99Ms }) => p99Ms), floor: [] });
  add({ name: `gets-${store}`, title: `${NAMES[store]}: ${CLIENTS} clients get`, unit: '/s', agent: gets.map(({ perSecond }) => perSecond), floor: [], ...(store === 'etcd' && { upstream: '1070 /s' }) });
  add({ name: `gets-p99-${store}`, title: '  the 99th of 100', unit: 'ms', agent: gets.map(({ p99Ms }) => p99Ms), floor: [] });
}
