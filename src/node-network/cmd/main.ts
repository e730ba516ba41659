/** `bin/kubelet-node-network`: names and routes of services on one node. */
import { existsSync, readFileSync } from 'node:fs';
import { createInformers } from '../../api/client/informer.ts';
import { systemClock } from '../../base/clock.ts';
import { errorMessage } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { createPinoLog } from '../../base/pino-log.ts';
import { systemRandom } from '../../base/random.ts';
import { HttpApiClient } from '../../client/http-api-client.ts';
import { HttpTransport } from '../../client/http-transport.ts';
import { readKubeconfig } from '../../client/kubeconfig.ts';
import { createDnsForwarder } from '../adapters/dns-forwarder.ts';
import { type DnsServer, startDnsServer } from '../adapters/dns-server.ts';
import { createIptables } from '../adapters/iptables.ts';
import { followClusterView } from '../dns/cluster-view.ts';
import { createNameService } from '../dns/name-service.ts';
import { createServiceRouter, type ServiceRouter } from '../service-routing/service-router.ts';
import { type NodeNetworkOptions, parseNodeNetwork, usage } from './node-network-flags.ts';

/** The exit code of who was called wrongly. */
const MISUSED = 2;
const BRIDGE_NETFILTER = '/proc/sys/net/bridge/bridge-nf-call-iptables';

async function main(args: readonly string[]): Promise<number> {
  const parsed = parseNodeNetwork(args);
  if (parsed.kind === 'error') {
    process.stderr.write(`${parsed.error}\nkubelet-node-network --help tells more\n`);
    return MISUSED;
  }
  if (parsed.kind === 'help') {
    process.stdout.write(usage);
    return 0;
  }
  const log = createPinoLog({
    format: 'text',
    verbosity: 0,
    write: (line) => void process.stderr.write(line),
    nowMs: () => Date.now(),
    pid: process.pid,
    program: 'node-network',
  });
  await run(parsed.options, log);
  return 0;
}

/** Until it is told to stop. Rules stay: what runs goes on. */
async function run({ kubeconfig, nodeName, dns, routing }: NodeNetworkOptions, log: Logger): Promise<void> {
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve());
  });
  const transport = new HttpTransport(readKubeconfig(kubeconfig), { userAgent: 'kubelet-node-network', maxSockets: 4 });
  const parts = { clock: systemClock, random: systemRandom, log };
  const informers = createInformers({ client: new HttpApiClient(transport), ...parts });
  let router: ServiceRouter | undefined;
  let server: DnsServer | undefined;
  if (routing !== undefined) {
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
  await Promise.race([Promise.all([informers.whenSynced(), router?.whenRouted()]), stopped]);
  log.info('serving', {
    dns: dns === undefined ? 'off' : `${dns.address}:${server?.port ?? dns.port}`,
    routing: routing === undefined ? 'off' : 'iptables',
  });
  await stopped;
  await Promise.all([server?.close(), router?.stop(), informers.stop()]);
  transport.close();
}

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`${errorMessage(error)}\n`);
    process.exit(1);
  },
);
