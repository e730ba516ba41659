/**
 * Eight clients that write and read on one of the stores, compared with the same puts on the bare store. Before that:
 * the start, and the cost of the idle server.
 */
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
/** About the length of a ConfigMap of the benchmark in the store, including managed fields. */
const VALUE = 'x'.repeat(600);
const FLOOR_SECONDS = 1.5;
/** The interval of gets next to the writers: enough to measure their delay, too few to cost much. */
const GET_EVERY_MS = 5;
const SETTLE_MS = 5000;
const MEMORY_SAMPLES = 5;
const NAMES: Record<Store, string> = { sqlite: 'SQLite', etcd: 'etcd' };

export async function measureStore(store: Store, context: StageContext): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'kts-bench-floor-'));
  context.defer(() => rmSync(folder, { recursive: true, force: true }));
  const etcd = store === 'etcd' ? await startEtcd() : undefined;
  context.defer(() => etcd?.stop());
  const cluster = await startCluster(etcd === undefined ? {} : { etcd });
  context.defer(() => cluster.stop());
  await measureIdle(store, cluster, context);
  await withLoad(async (load) => {
    await measureConfigMaps({ store, cluster, load, takeFloor: () => takeFloor(load, folder, etcd), context });
    await measurePodsAndGets({ store, cluster, load, context });
  });
}

interface Floor {
  readonly puts: Rates;
  /** SQLite runs in the server's process, so reading it is not a request. */
  readonly gets: Rates | undefined;
}

async function takeFloor(load: LoadProcess, folder: string, etcd: TestEtcd | undefined): Promise<Floor> {
  const effort = { clients: CLIENTS, seconds: FLOOR_SECONDS, value: VALUE };
  if (etcd === undefined) return { puts: await load.run('sqlitePuts', { folder, ...effort }), gets: undefined };
  const { endpoint } = etcd;
  const [puts, gets] = await withLoad((reader) =>
    Promise.all([
      load.run('etcdPuts', { endpoint, ...effort }),
      reader.run('etcdGets', { endpoint, clients: 1, seconds: FLOOR_SECONDS, everyMs: GET_EVERY_MS }),
    ]),
  );
  return { puts, gets };
}

async function measureIdle(store: Store, cluster: TestCluster, { options, add }: StageContext): Promise<void> {
  const started: number[] = [];
  // With etcd, a killed control plane remains leader until its lease expires.
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
  if (started.length > 0)
    add({
      name: `start-${store}`,
      title: `${NAMES[store]}: started -> serving`,
      unit: 'ms',
      agent: started,
      floor: [],
    });
  add({
    name: `idle-memory-${store}`,
    title: `${NAMES[store]}: idle: memory (RSS)`,
    unit: 'MiB',
    agent: memory,
    floor: [],
    target: { kind: 'atMost', value: 130 },
  });
}

interface StoreUnderLoad {
  readonly store: Store;
  readonly cluster: TestCluster;
  readonly load: LoadProcess;
  readonly context: StageContext;
}

async function measureConfigMaps({
  store,
  cluster,
  load,
  context,
  takeFloor,
}: StoreUnderLoad & { readonly takeFloor: () => Promise<Floor> }): Promise<void> {
  const { options, add } = context;
  const { kubeconfig } = cluster;
  const taken: { creates: Rates; gets: Rates; floor: Floor; cpuMs: number }[] = [];
  await load.run('creates', { kubeconfig, kind: 'configmaps', clients: CLIENTS, seconds: 1, prefix: 'warm' });
  for (let round = 0; round < options.rounds; round++) {
    const floor = await takeFloor();
    const beforeMs = processCpuMs(cluster.pid());
    // The gets come from another process, so that delays of its event loop are not counted as the server's.
    const [creates, gets] = await withLoad((reader) =>
      Promise.all([
        load.run('creates', {
          kubeconfig,
          kind: 'configmaps',
          clients: CLIENTS,
          seconds: options.roundSeconds,
          prefix: `round-${round}`,
        }),
        reader.run('gets', {
          kubeconfig,
          path: '/api/v1/namespaces/default/configmaps/warm-0',
          clients: 1,
          seconds: options.roundSeconds,
          everyMs: GET_EVERY_MS,
        }),
      ]),
    );
    taken.push({ creates, gets, floor, cpuMs: processCpuMs(cluster.pid()) - beforeMs });
  }
  const puts = taken.map(({ floor }) => floor.puts);
  const bareGets = taken.flatMap(({ floor }) => floor.gets ?? []);
  const rate = ({ perSecond }: Rates): number => perSecond;
  const ms = (
    name: string,
    title: string,
    from: (rates: Rates) => number,
    of: 'creates' | 'gets',
    extra: Partial<Row> = {},
  ): void =>
    add({
      name: `${name}-${store}`,
      title,
      unit: 'ms',
      agent: taken.map((round) => from(round[of])),
      floor: store === 'etcd' ? (of === 'gets' ? bareGets : puts).map(from) : [],
      ...extra,
    });
  add({
    name: `configmaps-${store}`,
    title: `${NAMES[store]}: ${CLIENTS} clients create ConfigMaps`,
    unit: '/s',
    agent: taken.map(({ creates }) => rate(creates)),
    floor: puts.map(rate),
    target: { kind: 'atLeast', value: 1000 },
    upstream: '620 /s',
  });
  ms('configmaps-p50', '  the median answer', ({ p50Ms }) => p50Ms, 'creates');
  ms('configmaps-p99', '  the 99th of 100', ({ p99Ms }) => p99Ms, 'creates');
  ms('get-p50', '  a get meanwhile: the median', ({ p50Ms }) => p50Ms, 'gets');
  ms('get-p99', '  a get meanwhile: the 99th of 100', ({ p99Ms }) => p99Ms, 'gets', {
    target: { kind: 'atMost', value: 10 },
  });
  // This includes the gets and, for SQLite, the store.
  add({
    name: `configmaps-cpu-${store}`,
    title: '  processor time of one',
    unit: 'µs',
    agent: taken.map(({ creates, cpuMs }) => (cpuMs * 1000) / creates.done),
    floor: [],
  });
}

async function measurePodsAndGets({ store, cluster, load, context: { options, add } }: StoreUnderLoad): Promise<void> {
  const { kubeconfig } = cluster;
  // Pods are admitted with it only.
  await cluster.kubectl(['wait', '--for=create', 'serviceaccount/default', '--timeout=30s']);
  const pods: Rates[] = [];
  const gets: Rates[] = [];
  const podMicros: number[] = [];
  for (let round = 0; round < options.rounds; round++) {
    const beforeMs = processCpuMs(cluster.pid());
    const created = await load.run('creates', {
      kubeconfig,
      kind: 'pods',
      clients: CLIENTS,
      seconds: options.roundSeconds,
      prefix: `round-${round}`,
    });
    podMicros.push(((processCpuMs(cluster.pid()) - beforeMs) * 1000) / created.done);
    pods.push(created);
    gets.push(
      await load.run('gets', {
        kubeconfig,
        path: '/api/v1/namespaces/default/configmaps/warm-0',
        clients: CLIENTS,
        seconds: options.roundSeconds / 2,
      }),
    );
  }
  add({
    name: `pods-${store}`,
    title: `${NAMES[store]}: ${CLIENTS} clients create pods`,
    unit: '/s',
    agent: pods.map(({ perSecond }) => perSecond),
    floor: [],
    target: { kind: 'atLeast', value: 1000 },
    upstream: '450 /s',
  });
  add({
    name: `pods-p99-${store}`,
    title: '  the 99th of 100',
    unit: 'ms',
    agent: pods.map(({ p99Ms }) => p99Ms),
    floor: [],
  });
  add({ name: `pods-cpu-${store}`, title: '  processor time of one', unit: 'µs', agent: podMicros, floor: [] });
  add({
    name: `gets-${store}`,
    title: `${NAMES[store]}: ${CLIENTS} clients get`,
    unit: '/s',
    agent: gets.map(({ perSecond }) => perSecond),
    floor: [],
    upstream: '1070 /s',
  });
  add({
    name: `gets-p99-${store}`,
    title: '  the 99th of 100',
    unit: 'ms',
    agent: gets.map(({ p99Ms }) => p99Ms),
    floor: [],
  });
}
