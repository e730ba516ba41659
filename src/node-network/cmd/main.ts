/** `bin/kubelet-node-network`: names and routes of services, and network policies, on one node. */
import type { Informers } from '../../api/client/informer.ts';
import { createInformers } from '../../api/client/informer.ts';
import { systemClock } from '../../base/clock.ts';
import { errorMessage, KubeletError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { Program } from '../../base/process-faults.ts';
import { systemRandom } from '../../base/random.ts';
import { runMain } from '../../base/run-main.ts';
import { HttpApiClient } from '../../client/http-api-client.ts';
import { HttpTransport } from '../../client/http-transport.ts';
import { readKubeconfig } from '../../client/kubeconfig.ts';
import type { Controller } from '../../control-plane/controller-runtime/controller.ts';
import { filterBridged, isBridgeFiltered } from '../adapters/bridge-netfilter.ts';
import { createConntrack } from '../adapters/conntrack.ts';
import { createDnsForwarder } from '../adapters/dns-forwarder.ts';
import type { DnsServer } from '../adapters/dns-server.ts';
import { startDnsServer } from '../adapters/dns-server.ts';
import { createHealthCheckPorts } from '../adapters/health-check-server.ts';
import { createIpNetwork } from '../adapters/ip-network.ts';
import { createIptables } from '../adapters/iptables.ts';
import { ensureLocalAddress } from '../adapters/local-device.ts';
import { createNft } from '../adapters/nft.ts';
import { writeNodeFile } from '../adapters/node-file.ts';
import { AnswerCache, cacheLimits } from '../dns/answer-cache.ts';
import { createCachingForwarder } from '../dns/caching-forwarder.ts';
import { followClusterView } from '../dns/cluster-view.ts';
import { createNameService } from '../dns/name-service.ts';
import { createPolicyEnforcer, POLICY_FAMILY } from '../network-policy/policy-enforcer.ts';
import type { PolicyEnforcer } from '../network-policy/policy-enforcer.ts';
import { removeTable } from '../nftables/table-writer.ts';
import type { Overlay } from '../overlay/overlay-manager.ts';
import { createOverlay } from '../overlay/overlay-manager.ts';
import { createHealthReporter } from '../service-routing/health-reporter.ts';
import type { ServiceRouter } from '../service-routing/service-router.ts';
import { createLoadBalancerController } from '../service-routing/load-balancer-controller.ts';
import { nodeLoadBalancer } from '../service-routing/ruleset.ts';
import type { NftServiceFacts } from '../service-routing/nft-base.ts';
import { createNftRouter, serviceTable } from '../service-routing/nft-router.ts';
import type { NftRouterOptions } from '../service-routing/nft-router.ts';
import { computeRemoval } from '../service-routing/restore-text.ts';
import { createServiceRouter } from '../service-routing/service-router.ts';
import type { DnsOptions } from './dns-flags.ts';
import type { NodeNetworkOptions } from './node-network-flags.ts';
import { parseNodeNetwork, USAGE } from './node-network-flags.ts';

/** Rules stay when it stops: what runs goes on. */
function createNodeNetwork(options: NodeNetworkOptions, log: Logger): Program {
  const { kubeconfig, nodeName, dns, overlay, routing } = options;
  const transport = new HttpTransport(readKubeconfig(kubeconfig), { userAgent: 'kubelet-node-network', maxSockets: 4 });
  const parts = { clock: systemClock, random: systemRandom, log };
  const client = new HttpApiClient(transport);
  const informers = createInformers({ client, ...parts });
  let router: ServiceRouter | undefined;
  let balancers: Controller | undefined;
  let health: ReturnType<typeof createHealthReporter> | undefined;
  let servers: readonly DnsServer[] = [];
  let enforcer: PolicyEnforcer | undefined;
  let between: Overlay | undefined;
  return {
    start: async () => {
      // First of all: what else it does may wait, a pod without its policies may not.
      if (options.policy === undefined) await removeStale(POLICY_FAMILY, options.policyTable, log);
      else {
        const { podBridge } = options.policy;
        enforcer = createPolicyEnforcer({
          client,
          informers,
          nft: createNft(),
          nodeName,
          tableName: options.policyTable,
          podBridge,
          filterBridged,
          ...parts,
        });
        enforcer.start();
      }
      if (routing !== undefined) {
        const balancer = nodeLoadBalancer(routing);
        if (balancer !== undefined) {
          balancers = createLoadBalancerController({ client, informers, balancer, ...parts });
          balancers.start();
        }
        router = await createRouter(routing, { informers, nodeName, balancer, ...parts });
        router.start();
        const { isHealthy } = router;
        const ports = createHealthCheckPorts(log);
        health = createHealthReporter({ informers, ports, nodeName, isProxyHealthy: isHealthy, ...parts });
        health.start();
      }
      if (dns !== undefined) {
        servers = await startNames(dns, { informers, log });
      }
      if (overlay !== undefined) {
        const writer = { kernel: createIpNetwork(), filter: createIptables(), writeFile: writeNodeFile };
        between = createOverlay(overlay, { client, informers, ...writer, ...parts });
        between.start();
      }
      informers.start();
      // The API server may be away for as long as it likes; a stop does not wait for it.
      void Promise.all([
        informers.whenSynced(),
        router?.whenRouted(),
        enforcer?.whenEnforced(),
        between?.whenJoined(),
      ]).then(() =>
        log.info('serving', {
          dns: dns === undefined ? 'off' : listenedAt(dns, servers),
          routing: routing?.backend ?? 'off',
          overlay: overlay?.backend ?? 'off',
          policies: enforcer === undefined ? 'off' : 'nftables',
        }),
      );
    },
    stop: async () => {
      await Promise.all([
        ...servers.map((server) => server.close()),
        between?.stop(),
        router?.stop(),
        health?.stop(),
        balancers?.stop(),
        enforcer?.stop(),
        informers.stop(),
      ]);
      transport.close();
    },
  };
}

const LOCAL_PORT = 53;

/** One name service behind all addresses, with one cache. */
async function startNames(
  dns: DnsOptions,
  { informers, log }: { readonly informers: Informers; readonly log: Logger },
): Promise<readonly DnsServer[]> {
  const { resolvConf, upstream, stubDomains, local } = dns;
  if (local !== undefined) await ensureLocalAddress(local);
  const places = [...dns.listen, ...(local === undefined ? [] : [{ address: local.address, port: LOCAL_PORT }])];
  const ownAddresses = places.map(({ address }) => address);
  const plain = createDnsForwarder({ resolvConf, ownAddresses, upstream, stubDomains });
  const cache = new AnswerCache({ ...cacheLimits, maxSeconds: dns.cacheSeconds });
  const forwarder = createCachingForwarder(plain, cache, systemClock);
  const service = createNameService({ view: followClusterView(informers, dns.domain), forwarder, log });
  return Promise.all(places.map((place) => startDnsServer({ ...place, service })));
}

const listenedAt = ({ listen, local }: DnsOptions, servers: readonly DnsServer[]): string =>
  [...listen, ...(local === undefined ? [] : [local])]
    .map(({ address }, at) => `${address.includes(':') ? `[${address}]` : address}:${servers[at]?.port ?? ''}`)
    .join();

type Routing = Exclude<NodeNetworkOptions['routing'], undefined>;
type RouterParts = Pick<NftRouterOptions, 'informers' | 'nodeName' | 'clock' | 'random' | 'log' | 'balancer'>;

/** What the other backend left is removed first: both would lead a packet to different endpoints. */
async function createRouter(routing: Routing, parts: RouterParts): Promise<ServiceRouter> {
  const { chainPrefix, podCidr, serviceCidr, second, admitted, kept, loopbackNodePorts, zone } = routing;
  const [bridgeNetfilter, iptables, nft, flows, tableName] = [
    isBridgeFiltered(),
    createIptables(),
    createNft(),
    createConntrack(),
    serviceTable(chainPrefix),
  ];
  if (routing.backend === 'iptables') {
    for (const family of ['ip', 'ip6']) await removeStale(family, tableName, parts.log);
    return createServiceRouter({ filter: iptables, flows, facts: { ...routing, bridgeNetfilter }, zone, ...parts });
  }
  const removal = computeRemoval(await iptables.read().catch(() => ''), chainPrefix);
  if (removal !== undefined) await iptables.apply(removal);
  const common = { bridgeNetfilter, kept: [...admitted, ...kept], loopbackNodePorts };
  const facts: readonly NftServiceFacts[] = [
    { family: 'IPv4', podCidr, serviceCidr, ...common },
    ...(second === undefined ? [] : [{ family: 'IPv6', ...second, ...common } as const]),
  ];
  return createNftRouter({ nft, flows, tableName, facts, zone, ...parts });
}

/** Of a run that had other flags: without a writer its rules would be in force as they were then. */
async function removeStale(family: string, table: string, log: Logger): Promise<void> {
  const nft = createNft();
  try {
    if ((await nft.show(family, table)) !== '') await removeTable(nft, family, table);
  } catch (error) {
    // Without the program there is no table of ours.
    if (!(error instanceof KubeletError && error.kind === 'NotFound'))
      log.warn('cannot remove a table that an earlier run left', { table, error: errorMessage(error) });
  }
}

void runMain(process, {
  name: 'kubelet-node-network',
  logName: 'node-network',
  usage: USAGE,
  parse: parseNodeNetwork,
  create: createNodeNetwork,
});
