/** Five hundred watchers of the same objects, each with its own connection, at a hundred writes per second. */
import { startCluster } from '../../e2e/support/cluster.ts';
import { processCpuMs } from '../process-figures.ts';
import type { StageContext } from './context.ts';
import { withLoad } from './load-process.ts';

const WATCHERS = 500;
const WRITES_PER_SECOND = 100;
const NAMESPACE = 'watched';
const CATCH_UP_MS = 10_000;

export async function measureWatchers({ options, add, note, defer }: StageContext): Promise<void> {
  const cluster = await startCluster();
  defer(() => cluster.stop());
  const { kubeconfig } = cluster;
  await cluster.kubectl(['create', 'namespace', NAMESPACE]);
  await withLoad((watchers) =>
    withLoad(async (writer) => {
      await watchers.run('openWatches', {
        kubeconfig,
        path: `/api/v1/namespaces/${NAMESPACE}/configmaps?watch=true&resourceVersion=0&allowWatchBookmarks=true`,
        count: WATCHERS,
      });
      const before = { atMs: performance.now(), server: processCpuMs(cluster.pid()), clients: watchers.cpuMs() };
      const answeredAtMs = await writer.run('pacedWrites', {
        kubeconfig,
        namespace: NAMESPACE,
        perSecond: WRITES_PER_SECOND,
        count: WRITES_PER_SECOND * options.watchSeconds,
      });
      const seconds = (performance.now() - before.atMs) / 1000;
      const [server, clients] = [processCpuMs(cluster.pid()) - before.server, watchers.cpuMs() - before.clients].map(
        (ms) => ms / seconds,
      );
      const { p50Ms, p99Ms, maxMs, lost, twice, ended } = await watchers.run('judgeWatches', {
        answeredAtMs,
        limitMs: CATCH_UP_MS,
      });
      if (lost > 0 || twice > 0 || ended > 0)
        note(`${WATCHERS} watchers: ${lost} events were lost, ${twice} came twice, ${ended} watches ended`);
      const target = { kind: 'atMost', value: 100 } as const;
      add({
        name: 'watchers-p50',
        title: `${WATCHERS} watchers, ${WRITES_PER_SECOND} writes/s: answer -> event: the median`,
        unit: 'ms',
        agent: [p50Ms],
        floor: [],
      });
      add({ name: 'watchers-p99', title: '  the 99th of 100', unit: 'ms', agent: [p99Ms], floor: [], target });
      add({ name: 'watchers-max', title: '  the latest of all', unit: 'ms', agent: [maxMs], floor: [], target });
      add({
        name: 'watchers-lost',
        title: '  lost or repeated',
        unit: 'events',
        agent: [lost + twice],
        floor: [],
        target: { kind: 'atMost', value: 0 },
      });
      add({ name: 'watchers-cpu', title: '  processor', unit: 'mcpu', agent: [server ?? 0], floor: [] });
      add({
        name: 'watchers-clients-cpu',
        title: '  processor of the watchers',
        unit: 'mcpu',
        agent: [clients ?? 0],
        floor: [],
      });
    }),
  );
}
