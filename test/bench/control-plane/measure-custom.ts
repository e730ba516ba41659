/**
 * The cost of custom kinds: 500 definitions of the size that operators install; writes and watches of custom objects
 * compared with those of ConfigMaps of the same length, alternating in one run.
 */
import { pause } from '../../../src/up/processes.ts';
import { startCluster } from '../../e2e/support/cluster.ts';
import type { TestCluster } from '../../e2e/support/cluster.ts';
import { processCpuMs, residentMib } from '../process-figures.ts';
import type { StageContext } from './context.ts';
import { SAMPLE_DEFINITION } from './custom-definitions.ts';
import { pathOf } from './load-jobs.ts';
import { withLoad } from './load-process.ts';
import type { LoadProcess } from './load-process.ts';

const DEFINITIONS = 500;
const SETTLE_MS = 5000;
const CLIENTS = 8;
const WATCHERS = 100;
const WRITES_PER_SECOND = 100;
const CATCH_UP_MS = 10_000;
const KINDS = ['configmaps', 'samples'] as const;
type Kind = (typeof KINDS)[number];
type Samples = Record<Kind, number[]>;

export async function measureCustom(context: StageContext): Promise<void> {
  const cluster = await startCluster();
  context.defer(() => cluster.stop());
  await withLoad(async (load) => {
    await measureObjects(cluster, load, context);
    await measureDefinitions(cluster, load, context);
  });
}

async function measureDefinitions(cluster: TestCluster, load: LoadProcess, { add }: StageContext): Promise<void> {
  const { kubeconfig } = cluster;
  await pause(SETTLE_MS);
  const before = { mib: residentMib(cluster.pid()), cpuMs: processCpuMs(cluster.pid()) };
  const tookMs = await load.run('createDefinitions', { kubeconfig, count: DEFINITIONS });
  const cpuMs = processCpuMs(cluster.pid()) - before.cpuMs;
  await pause(SETTLE_MS);
  const mib = residentMib(cluster.pid()) - before.mib;
  const target = { kind: 'atMost', value: 3000 } as const;
  const title = `${DEFINITIONS} definitions of 44.5 KB`;
  add({ name: 'definitions', title: `${title}: all served`, unit: 'ms', agent: [tookMs], floor: [], target });
  add({ name: 'definitions-cpu', title: '  processor time', unit: 'ms', agent: [cpuMs], floor: [] });
  add({
    name: 'definitions-memory',
    title: '  memory (RSS)',
    unit: 'MiB',
    agent: [mib],
    floor: [],
    target: { kind: 'atMost', value: 100 },
  });
  await cluster.kill();
  const killedAtMs = performance.now();
  await cluster.start();
  await load.run('awaitDefinitions', { kubeconfig, count: DEFINITIONS });
  const startMs = performance.now() - killedAtMs;
  add({
    name: 'definitions-start',
    title: '  start with these stored, all served',
    unit: 'ms',
    agent: [startMs],
    floor: [],
  });
  const startCpuMs = processCpuMs(cluster.pid());
  add({ name: 'definitions-start-cpu', title: '    processor time', unit: 'ms', agent: [startCpuMs], floor: [] });
}

async function measureObjects(cluster: TestCluster, load: LoadProcess, context: StageContext): Promise<void> {
  const { kubeconfig } = cluster;
  const { options, add } = context;
  await cluster.kubectl(['apply', '-f', '-'], JSON.stringify(SAMPLE_DEFINITION));
  await cluster.kubectl(['wait', '--for=condition=Established', 'crd/samples.bench.example.com', '--timeout=30s']);
  for (const kind of KINDS)
    await load.run('creates', { kubeconfig, kind, clients: CLIENTS, seconds: 2, prefix: 'warm' });
  const writes: Samples = { configmaps: [], samples: [] };
  for (let round = 0; round < options.rounds * 2; round++)
    for (const kind of KINDS) {
      const beforeMs = processCpuMs(cluster.pid());
      const { done } = await load.run('creates', {
        kubeconfig,
        kind,
        clients: CLIENTS,
        seconds: options.roundSeconds,
        prefix: `round-${round}`,
      });
      writes[kind].push(((processCpuMs(cluster.pid()) - beforeMs) * 1000) / done);
    }
  const watches: Samples = { configmaps: [], samples: [] };
  for (let round = 0; round < options.rounds; round++)
    for (const kind of KINDS) watches[kind].push(await measureWatch(cluster, load, context, { kind, round }));
  const row = (name: string, title: string, { samples, configmaps }: Samples): void =>
    add({ name, title, unit: 'µs', agent: samples, floor: configmaps, target: { kind: 'floorTimes', value: 1.3 } });
  row('custom-writes', "processor time of a custom object's creation; floor: a ConfigMap's", writes);
  row('custom-watches', `  with ${WATCHERS} watchers, of one event for one of them`, watches);
}

/** The processor time of a write with its watchers, in microseconds per event. */
async function measureWatch(
  cluster: TestCluster,
  load: LoadProcess,
  { options, note }: StageContext,
  { kind, round }: { readonly kind: Kind; readonly round: number },
): Promise<number> {
  const { kubeconfig } = cluster;
  const namespace = `watched-${kind}-${round}`;
  await cluster.createNamespace(namespace);
  return withLoad(async (watchers) => {
    const path = `${pathOf(kind, namespace)}?watch=true&resourceVersion=0&allowWatchBookmarks=true`;
    await watchers.run('openWatches', { kubeconfig, path, count: WATCHERS });
    const beforeMs = processCpuMs(cluster.pid());
    const count = (WRITES_PER_SECOND * options.watchSeconds) / 2;
    const order = { kubeconfig, namespace, kind, perSecond: WRITES_PER_SECOND, count };
    const answeredAtMs = await load.run('pacedWrites', order);
    const { lost, twice } = await watchers.run('judgeWatches', { answeredAtMs, limitMs: CATCH_UP_MS });
    if (lost + twice > 0) note(`watches of ${kind}: ${lost} events were lost, ${twice} came twice`);
    return ((processCpuMs(cluster.pid()) - beforeMs) * 1000) / (count * WATCHERS);
  });
}
