/** `bin/kubelet-node-network`: names and routes of services, and network policies, on one node. */
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
import { createDnsForwarder } from '../adapters/dns-forwarder.ts';
import type { DnsServer } from '../adapters/dns-server.ts';
import { startDnsServer } from '../adapters/dns-server.ts';
import { createIpNetwork } from '../adapters/ip-network.ts';
import { createIptables } from '../adapters/iptables.ts';
import { createNft } from '../adapters/nft.ts';
import { writeNodeFile } from '../adapters/node-file.ts';
import { followClusterView } from '../dns/cluster-view.ts';
import { createNameService } from '../dns/name-service.ts';
import { createPolicyEnforcer, POLICY_FAMILY } from '../network-policy/policy-enforcer.ts';
import type { PolicyEnforcer } from '../network-policy/policy-enforcer.ts';
import { removeTable } from '../nftables/table-writer.ts';
import type { Overlay } from '../overlay/overlay-manager.ts';
import { createOverlay } from '../overlay/overlay-manager.ts';
import type { ServiceRouter } from '../service-routing/service-router.ts';
import { createLoadBalancerController } from '../service-routing/load-balancer-controller.ts';
import { nodeLoadBalancer } from '../service-routing/ruleset.ts';
import { createServiceRouter } from '../service-routing/service-router.ts';
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
  let server: DnsServer | undefined;
  let enforcer: PolicyEnforcer | undefined;
  let between: Overlay | undefined;
  return {
    start: async () => {
      // First of all: what else it does may wait, a pod without its policies may not.
      if (options.policy === undefined) await removeStalePolicies(options.policyTable, log);
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
        router = createServiceRouter({
          informers,
          filter: createIptables(),
          nodeName,
          facts: { ...routing, bridgeNetfilter: isBridgeFiltered() },
          ...parts,
        });
        router.start();
      }
      if (dns !== undefined) {
        const forwarder = createDnsForwarder({ resolvConf: dns.resolvConf, ownAddress: dns.address });
        server = await startDnsServer({
          ...dns,
          service: createNameService({ view: followClusterView(informers, dns.domain), forwarder, log }),
        });
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
          dns: dns === undefined ? 'off' : `${dns.address}:${server?.port ?? dns.port}`,
          routing: routing === undefined ? 'off' : 'iptables',
          overlay: overlay?.backend ?? 'off',
          policies: enforcer === undefined ? 'off' : 'nftables',
        }),
      );
    },
    stop: async () => {
      await Promise.all([
        server?.close(),
        between?.stop(),
        router?.stop(),
        balancers?.stop(),
        enforcer?.stop(),
        informers.stop(),
      ]);
      transport.close();
    },
  };
}

/** Of a run that enforced them: without a writer they would be in force as they were then. */
async function removeStalePolicies(table: string, log: Logger): Promise<void> {
  const nft = createNft();
  try {
    if ((await nft.show(POLICY_FAMILY, table)) !== '') await removeTable(nft, POLICY_FAMILY, table);
  } catch (error) {
    // Without the program there is no table of ours.
    if (!(error instanceof KubeletError && error.kind === 'NotFound'))
      log.warn('cannot remove the rules of network policies', { table, error: errorMessage(error) });
  }
}

void runMain(process, {
  name: 'kubelet-node-network',
  logName: 'node-network',
  usage: USAGE,
  parse: parseNodeNetwork,
  create: createNodeNetwork,
});
