/** `bin/kubelet-node-network`: names and routes of services on one node. */
import { existsSync, readFileSync } from 'node:fs';
import { createInformers } from '../../api/client/informer.ts';
import { systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Program } from '../../base/process-faults.ts';
import { systemRandom } from '../../base/random.ts';
import { runMain } from '../../base/run-main.ts';
import { HttpApiClient } from '../../client/http-api-client.ts';
import { HttpTransport } from '../../client/http-transport.ts';
import { readKubeconfig } from '../../client/kubeconfig.ts';
import type { Controller } from '../../control-plane/controller-runtime/controller.ts';
import { createDnsForwarder } from '../adapters/dns-forwarder.ts';
import type { DnsServer } from '../adapters/dns-server.ts';
import { startDnsServer } from '../adapters/dns-server.ts';
import { createIptables } from '../adapters/iptables.ts';
import { followClusterView } from '../dns/cluster-view.ts';
import { createNameService } from '../dns/name-service.ts';
import type { ServiceRouter } from '../service-routing/service-router.ts';
import { createLoadBalancerController } from '../service-routing/load-balancer-controller.ts';
import { nodeLoadBalancer } from '../service-routing/ruleset.ts';
import { createServiceRouter } from '../service-routing/service-router.ts';
import type { NodeNetworkOptions } from './node-network-flags.ts';
import { parseNodeNetwork, USAGE } from './node-network-flags.ts';

const BRIDGE_NETFILTER = '/proc/sys/net/bridge/bridge-nf-call-iptables';

/** Rules stay when it stops: what runs goes on. */
function createNodeNetwork({ kubeconfig, nodeName, dns, routing }: NodeNetworkOptions, log: Logger): Program {
  const transport = new HttpTransport(readKubeconfig(kubeconfig), { userAgent: 'kubelet-node-network', maxSockets: 4 });
  const parts = { clock: systemClock, random: systemRandom, log };
  const client = new HttpApiClient(transport);
  const informers = createInformers({ client, ...parts });
  let router: ServiceRouter | undefined;
  let balancers: Controller | undefined;
  let server: DnsServer | undefined;
  return {
    start: async () => {
      if (routing !== undefined) {
        const balancer = nodeLoadBalancer(routing);
        if (balancer !== undefined) {
          balancers = createLoadBalancerController({ client, informers, balancer, ...parts });
          balancers.start();
        }
        const bridgeNetfilter = existsSync(BRIDGE_NETFILTER) && readFileSync(BRIDGE_NETFILTER, 'utf8').trim() === '1';
        router = createServiceRouter({
          informers,
          filter: createIptables(),
          nodeName,
          facts: { ...routing, bridgeNetfilter },
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
      informers.start();
      // The API server may be away for as long as it likes; a stop does not wait for it.
      void Promise.all([informers.whenSynced(), router?.whenRouted()]).then(() =>
        log.info('serving', {
          dns: dns === undefined ? 'off' : `${dns.address}:${server?.port ?? dns.port}`,
          routing: routing === undefined ? 'off' : 'iptables',
        }),
      );
    },
    stop: async () => {
      await Promise.all([server?.close(), router?.stop(), balancers?.stop(), informers.stop()]);
      transport.close();
    },
  };
}

void runMain(process, {
  name: 'kubelet-node-network',
  logName: 'node-network',
  usage: USAGE,
  parse: parseNodeNetwork,
  create: createNodeNetwork,
});
