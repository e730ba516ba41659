/** `bin/kubelet-node-network`: DNS, service routing and network policies on one node. */
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
import { readNodeFile, writeNodeFile } from '../adapters/node-file.ts';
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
import type { IpFamily } from '../service-routing/ip-family.ts';
import { familyOf, nftWord } from '../service-routing/ip-family.ts';
import { nodeLoadBalancer } from '../service-routing/ruleset.ts';
import type { NftServiceFacts } from '../service-routing/nft-base.ts';
import { createNftRouter, serviceTable } from '../service-routing/nft-router.ts';
import type { NftRouterOptions } from '../service-routing/nft-router.ts';
import { computeRemoval } from '../service-routing/restore-text.ts';
import { createServiceRouter, joinRouters } from '../service-routing/service-router.ts';
import type { DnsOptions } from './dns-flags.ts';
import type { NodeNetworkOptions } from './node-network-flags.ts';
import { parseNodeNetwork, USAGE } from './node-network-flags.ts';

/** Creates the parts of the node's network. Rules stay when it stops, so that running pods keep their network. */
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
      // Started first, because a pod must not run without its policies.
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
        const filters = { ipv4: createIptables(), ipv6: createIptables([], 'IPv6') };
        const writer = { kernel: createIpNetwork(), filters, readFile: readNodeFile, writeFile: writeNodeFile };
        between = createOverlay(overlay, { client, informers, ...writer, ...parts });
        between.start();
      }
      informers.start();
      // A stop must not wait for an API server that is unreachable.
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
  for (const address of local?.addresses ?? []) await ensureLocalAddress({ address, device: local?.device ?? '' });
  const places = [...dns.listen, ...localPlaces(dns)];
  const ownAddresses = places.map(({ address }) => address);
  const plain = createDnsForwarder({ resolvConf, ownAddresses, upstream, stubDomains });
  const cache = new AnswerCache({ ...cacheLimits, maxSeconds: dns.cacheSeconds });
  const forwarder = createCachingForwarder(plain, cache, systemClock);
  const service = createNameService({ view: followClusterView(informers, dns.domain), forwarder, log });
  return Promise.all(places.map((place) => startDnsServer({ ...place, service })));
}

const localPlaces = ({ local }: DnsOptions): DnsOptions['listen'] =>
  (local?.addresses ?? []).map((address) => ({ address, port: LOCAL_PORT }));

const listenedAt = (dns: DnsOptions, servers: readonly DnsServer[]): string =>
  [...dns.listen, ...localPlaces(dns)]
    .map(({ address }, at) => `${address.includes(':') ? `[${address}]` : address}:${servers[at]?.port ?? ''}`)
    .join();

type Routing = Exclude<NodeNetworkOptions['routing'], undefined>;
type RouterParts = Pick<NftRouterOptions, 'informers' | 'nodeName' | 'clock' | 'random' | 'log' | 'balancer'>;

/**
 * Creates the router, and first removes the rules of the other backend: with both, a packet could reach different
 * endpoints.
 */
async function createRouter(routing: Routing, parts: RouterParts): Promise<ServiceRouter> {
  const { chainPrefix, ranges, admitted, kept, loopbackNodePorts, zone } = routing;
  const [bridgeNetfilter, nft, flows, tableName] = [
    isBridgeFiltered(),
    createNft(),
    createConntrack(),
    serviceTable(chainPrefix),
  ];
  for (const family of ['IPv4', 'IPv6'] as const) {
    const isRouted = ranges.some((each) => each.family === family);
    if (routing.backend === 'iptables' || !isRouted) await removeStale(nftWord[family], tableName, parts.log);
    if (routing.backend === 'nftables' || !isRouted) await removeChains(family, chainPrefix);
  }
  if (routing.backend === 'iptables')
    return joinRouters(
      ranges.map((each) => {
        const [filter, facts] = [createIptables([], each.family), { ...routing, ...each, bridgeNetfilter }];
        return createServiceRouter({ filter, flows, facts, zone, ...parts });
      }),
    );
  const facts = ranges.map((each): NftServiceFacts => {
    const ofFamily = [...admitted, ...kept].filter(({ ip }) => familyOf(ip) === each.family);
    return { ...each, bridgeNetfilter, kept: ofFamily, loopbackNodePorts };
  });
  return createNftRouter({ nft, flows, tableName, facts, zone, ...parts });
}

async function removeChains(family: IpFamily, chainPrefix: string): Promise<void> {
  const iptables = createIptables([], family);
  const removal = computeRemoval(await iptables.read().catch(() => ''), chainPrefix);
  if (removal !== undefined) await iptables.apply(removal);
}

/** Removes the rules of a run with other flags, because nothing would update them. */
async function removeStale(family: string, table: string, log: Logger): Promise<void> {
  const nft = createNft();
  try {
    if ((await nft.show(family, table)) !== '') await removeTable(nft, family, table);
  } catch (error) {
    // Without the `nft` program we cannot have created a table.
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
