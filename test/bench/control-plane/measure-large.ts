/**
 * A thousand fake nodes: idle; one large set of ten thousand pods with concurrent readers; the same number of pods in a
 * hundred sets; and in three hundred sets of three kinds.
 */
import type { ApiClient } from '../../../src/api/client/api-client.ts';
import {
  daemonSets,
  deployments,
  jobs as jobType,
  namespaces,
  pods as podType,
  statefulSets,
} from '../../../src/api/client/resource-types.ts';
import { pause, waitUntil } from '../../../src/up/processes.ts';
import { startCluster, startFakeNodes } from '../../e2e/support/cluster.ts';
import type { TestCluster } from '../../e2e/support/cluster.ts';
import { processCpuMs, residentMib } from '../process-figures.ts';
import type { StageContext } from './context.ts';
import { LoadClient } from './load-client.ts';
import { readKubeconfig } from '../../../src/client/kubeconfig.ts';
import { withLoad } from './load-process.ts';
import type { LoadProcess } from './load-process.ts';
import { workload } from './objects.ts';
import type { WorkloadShape } from './objects.ts';

const SETTLE_MS = 5000;
const LIMIT_MS = 180_000;
const SLICE_SECONDS = 3;
const GET_EVERY_MS = 20;
/** The processor milliseconds of two cores per second. */
const TWO_CORES_MS = 2000;

interface Cpu {
  readonly server: number;
  readonly nodes: number;
}

/** The cost until all pods of some sets were ready. */
interface Filled {
  readonly perSecond: number;
  /** Processor milliseconds per pod. */
  readonly cpu: Cpu;
  readonly memoryKib: number;
  readonly getsP99Ms: readonly number[];
  readonly listsMs: readonly number[];
  readonly tablesMs: readonly number[];
}

export async function measureLarge({ options, add, defer, say }: StageContext): Promise<void> {
  const { largeNodes: nodes, largePods: pods } = options;
  const fill = async (namespace: string, shape: WorkloadShape): Promise<Filled> => {
    const cluster = await startCluster();
    defer(() => cluster.stop());
    const fakes = await startFakeNodes(cluster.kubeconfig, nodes, cluster.folder);
    defer(fakes);
    await pause(SETTLE_MS);
    // Before the idle phase, in which the heap grows too.
    const beforeKib = residentMib(cluster.pid()) * 1024;
    const cpu = (): Cpu => ({ server: processCpuMs(cluster.pid()), nodes: processCpuMs(fakes.pid) });
    if (shape === 'one') {
      const before = cpu();
      await pause(options.idleSeconds * 1000);
      const after = cpu();
      add({
        name: 'large-idle',
        title: `idle with ${nodes} nodes and their leases: processor`,
        unit: 'mcpu',
        agent: [(after.server - before.server) / options.idleSeconds],
        floor: [],
        target: { kind: 'atMost', value: 25 },
      });
    }
    say(`${pods} pods, ${shape}`);
    const filled = await fillCluster(cluster, { namespace, shape, pods, nodes, cpu, beforeKib });
    await fakes();
    await cluster.stop();
    return filled;
  };
  // The comparison first: the rows of each set exist as soon as it is measured.
  const hundred = await fill('hundred', 'hundred');
  const one = await fill('one', 'one');
  report(add, { name: 'large', title: `one Deployment of ${pods} over ${nodes} nodes` }, one, hundred);
  const mixed = await fill('mixed', 'mixed');
  report(add, { name: 'mixed', title: `${pods} pods of 300 StatefulSets, Jobs and DaemonSets` }, mixed, hundred);
}

/**
 * The comparison is the same number of pods in a hundred small Deployments: it shows what a large set costs in addition
 * to its pods.
 */
function report(
  add: StageContext['add'],
  { name, title }: { readonly name: string; readonly title: string },
  filled: Filled,
  peer: Filled,
): void {
  const rate = ({ cpu }: Filled): number => TWO_CORES_MS / (cpu.server + cpu.nodes);
  add({
    name: `${name}-cpu`,
    title: `${title}: processor time of one, server`,
    unit: 'ms',
    agent: [filled.cpu.server],
    floor: [peer.cpu.server],
  });
  add({ name: `${name}-nodes-cpu`, title: '  nodes', unit: 'ms', agent: [filled.cpu.nodes], floor: [peer.cpu.nodes] });
  const atLeast = { kind: 'atLeast', value: 250 } as const;
  add({
    name: `${name}-computed`,
    title: '  ready pods that two cores have processor time for',
    unit: '/s',
    agent: [rate(filled)],
    floor: [rate(peer)],
    target: atLeast,
  });
  add({
    name: `${name}-ready`,
    title: '  ready pods by the clock',
    unit: '/s',
    agent: [filled.perSecond],
    floor: [peer.perSecond],
    target: atLeast,
  });
  add({
    name: `${name}-get`,
    title: `  a get meanwhile: the 99th of 100, of each ${SLICE_SECONDS} s`,
    unit: 'ms',
    agent: filled.getsP99Ms,
    floor: peer.getsP99Ms,
    target: { kind: 'atMost', value: 200 },
  });
  add({
    name: `${name}-list`,
    title: '  a list of the namespace meanwhile',
    unit: 'ms',
    agent: filled.listsMs,
    floor: peer.listsMs,
    target: { kind: 'atMost', value: 1000 },
  });
  add({
    name: `${name}-table`,
    title: '  the same as `kubectl get` lists: a Table in pages',
    unit: 'ms',
    agent: filled.tablesMs,
    floor: peer.tablesMs,
    target: { kind: 'atMost', value: 1000 },
  });
  add({
    name: `${name}-memory`,
    title: '  memory (RSS) of one, all in all',
    unit: 'KiB',
    agent: [filled.memoryKib],
    floor: [peer.memoryKib],
    target: { kind: 'atMost', value: 35 },
  });
}

async function fillCluster(
  cluster: TestCluster,
  {
    namespace,
    shape,
    pods,
    nodes,
    cpu,
    beforeKib,
  }: {
    readonly namespace: string;
    readonly shape: WorkloadShape;
    readonly pods: number;
    readonly nodes: number;
    readonly cpu: () => Cpu;
    /** The resident memory of the server with nodes and without pods. */
    readonly beforeKib: number;
  },
): Promise<Filled> {
  const api = cluster.client();
  await api.create(namespaces, { metadata: { name: namespace, namespace: '', uid: '' }, spec: {} });
  const sender = new LoadClient(readKubeconfig(cluster.kubeconfig));
  const before = cpu();
  const startMs = performance.now();
  for (const { path, body } of workload(shape, namespace, pods, nodes))
    await sender.send({ method: 'POST', path, body });
  sender.close();
  const getsP99Ms: number[] = [];
  const listsMs: number[] = [];
  const tablesMs: number[] = [];
  let isReady = false;
  const reading = withLoad((gets) =>
    withLoad(async (lists) => {
      while (!isReady) {
        const [got, listed] = await Promise.all([
          gets.run('gets', {
            kubeconfig: cluster.kubeconfig,
            path: '/api/v1/namespaces/kube-system',
            clients: 1,
            seconds: SLICE_SECONDS,
            everyMs: GET_EVERY_MS,
          }),
          readLists(lists, cluster.kubeconfig, `/api/v1/namespaces/${namespace}/pods`),
        ]);
        getsP99Ms.push(got.p99Ms);
        listsMs.push(...listed.ms);
        tablesMs.push(listed.tableMs);
      }
    }),
  );
  const all = await waitUntil(async () => (await readyPods(api, namespace)) >= pods, LIMIT_MS, 500);
  const seconds = (performance.now() - startMs) / 1000;
  const after = cpu();
  isReady = true;
  await reading;
  if (!all) throw new Error(`after ${LIMIT_MS / 1000} s ${await readyPods(api, namespace)} of ${pods} pods are ready`);
  await pause(SETTLE_MS);
  const { items } = await api.list(podType, namespace, { limit: 1 });
  if (items.length === 0) throw new Error('there are no pods');
  return {
    perSecond: pods / seconds,
    cpu: { server: (after.server - before.server) / pods, nodes: (after.nodes - before.nodes) / pods },
    memoryKib: (residentMib(cluster.pid()) * 1024 - beforeKib) / pods,
    getsP99Ms,
    listsMs,
    tablesMs,
  };
}

/** Reads one list of each kind, one after the other. */
async function readLists(
  load: LoadProcess,
  kubeconfig: string,
  path: string,
): Promise<{ readonly ms: readonly number[]; readonly tableMs: number }> {
  const { ms } = await load.run('lists', { kubeconfig, path, accept: 'application/json', count: 1 });
  return { ms, tableMs: await load.run('tableList', { kubeconfig, path }) };
}

/** The number of ready pods in the status of the sets, which is what users wait for. */
async function readyPods(api: ApiClient, namespace: string): Promise<number> {
  const [large, stateful, daemons, done] = await Promise.all([
    api.list(deployments, namespace, {}),
    api.list(statefulSets, namespace, {}),
    api.list(daemonSets, namespace, {}),
    api.list(jobType, namespace, {}),
  ]);
  const counts = [
    ...large.items.map(({ status }) => status?.readyReplicas),
    ...stateful.items.map(({ status }) => status?.readyReplicas),
    ...daemons.items.map(({ status }) => status?.numberReady),
    ...done.items.map(({ status }) => status?.succeeded),
  ];
  return counts.reduce<number>((sum, count) => sum + (count ?? 0), 0);
}
