import { listenSecurely } from '../../adapters/tls/secure-listen.ts';
import type { SecureListening } from '../../adapters/tls/secure-listen.ts';
import { readPageAsset } from '../../adapters/files/page-assets.ts';
import { refuseClient } from '../../adapters/net/serve-app.ts';
import { readEvictionReport } from '../../features/eviction/eviction-reporter.ts';
import { createPage } from '../../features/page/create-page.ts';
import type { NodePage } from '../../features/page/create-page.ts';
import type { PageSources } from '../../features/page/page-sources.ts';
import type { LocalApiSources } from '../../features/server/local-api.ts';
import type { MeasuredPod } from '../../features/stats/pod-groups.ts';
import type { Kubelet } from '../compose/compose-kubelet.ts';
import type { ManagersView } from '../../features/page/compute-managers.ts';
import { flatTopology } from '../../model/machine-topology.ts';
import { KUBERNETES_VERSION } from '../flags/flags-version.ts';
import { composeGuard, secureTls } from './compose-secure-server.ts';
import type { Serving } from './compose-serving.ts';

export interface PageServerOptions {
  readonly kubelet: Kubelet;
  readonly views: Pick<LocalApiSources, 'pods' | 'watch' | 'problems' | 'containerLog'>;
  readonly serving: Serving;
  readonly port: number;
  /** The token of --cadvisor-token-file; undefined if there is none. */
  readonly token: string | undefined;
}

/** Opens the node's page on --cadvisor-port; undefined if no client could log in. */
export async function openPageServer({
  kubelet,
  views,
  serving,
  port,
  token,
}: PageServerOptions): Promise<SecureListening | undefined> {
  const { platform, settings } = kubelet;
  const { clock, random, log } = platform;
  const { security, server } = settings.config;
  const guard = composeGuard(platform, security, serving);
  if (typeof guard === 'string' && token === undefined) {
    log.info('The page of the node is not served, since no client could authenticate.', { port, why: guard });
    return undefined;
  }
  const page: NodePage = createPage<MeasuredPod>({
    sources: pageSources(kubelet, views),
    readLog: (target, request, signal) => views.containerLog({ ...target }, request, signal),
    readAsset: readPageAsset,
    guard: typeof guard === 'string' ? undefined : guard,
    token,
    clock,
    random,
    log,
  });
  await serving.start();
  const listening = await listenSecurely({
    host: server.address,
    port,
    tls: secureTls(security),
    ...serving,
    guard: page.guard,
    fetch: (request) => page.app.fetch(request),
    openStream: ({ socket }) => refuseClient(socket, { status: 404, body: '404 page not found\n' }),
    clock,
    log,
  });
  return {
    ...listening,
    close: () => {
      page.feed.stop();
      return listening.close();
    },
  };
}

function pageSources(kubelet: Kubelet, views: PageServerOptions['views']): PageSources<MeasuredPod> {
  const { platform, stats, settings, node, explain, cpuManager, devices } = kubelet;
  return {
    stats: stats?.provider,
    disks: stats?.disks,
    machine: platform.stats?.machine,
    tasks: () => platform.stats?.groups.tasks(),
    interfaces: () => platform.stats?.groups.interfaces(1) ?? [],
    nodeName: platform.machine.nodeName,
    kubeletVersion: KUBERNETES_VERSION,
    eviction: settings.config.eviction,
    node: () => node.watch.current(),
    pods: () => views.pods(),
    explain: (pod) => explain.explain(pod),
    watch: (onChange) => views.watch(() => onChange()),
    problems: () => views.problems(),
    evictionReport: () => readEvictionReport(kubelet.eviction?.reporter),
    managersView: {
      cpus: cpuManager.policyName === 'none' ? undefined : composeCpuView(kubelet),
      devices: devices.manager,
    },
  };
}

function composeCpuView({ platform, cpuManager }: Kubelet): ManagersView['cpus'] {
  return {
    topology: platform.topology?.() ?? flatTopology(platform.machine),
    sharedPool: () => cpuManager.usage().sharedPool,
    exclusive: (uid, container) => cpuManager.exclusive(uid, container),
  };
}
