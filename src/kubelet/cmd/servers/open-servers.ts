import { createHealthApp } from '../../features/server/health-app.ts';
import type { Problem } from '../../features/server/local-api.ts';
import { createLocalApi } from '../../features/server/local-api.ts';
import { createReadOnlyApp } from '../../features/server/read-only-app.ts';
import { createManifestServer } from '../../features/pod-config/manifest-server.ts';
import type { Listening } from '../../adapters/net/http-listen.ts';
import { listenTcp, listenUnix } from '../../adapters/net/http-listen.ts';
import type { AdjustableLogger } from '../../../base/pino-log.ts';
import { inBackground } from '../../../base/background.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { NodeAddress } from '../../../api/core/node.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import type { Kubelet } from '../compose/compose-kubelet.ts';
import type { Serving } from './compose-serving.ts';
import { composeServing } from './compose-serving.ts';
import { openSecureServer } from './compose-secure-server.ts';
import { observeRequests } from '../../features/metrics/http-requests.ts';
import { observedFetch } from '../../features/server/request-metrics.ts';
import { tracedFetch } from '../../features/server/request-traces.ts';
import { composeLocalSources } from './compose-local-sources.ts';
import { openPageServer } from './compose-page-server.ts';
import { composeServer } from './compose-server.ts';
import type { RealPlatform } from '../platform/compose-platform.ts';
import type { AgentFlags } from '../flags/flags-values-agent.ts';
import { processFacts } from '../process-facts.ts';

/** Opens and closes the servers of the agent. A server that cannot listen is logged, and pods are not affected. */
export class Servers {
  readonly #log: Logger;
  readonly #listening: Listening[] = [];
  #closed = false;

  constructor(log: Logger) {
    this.#log = log;
  }

  async open(listen: Promise<Listening | undefined>): Promise<void> {
    try {
      const listening = await listen;
      if (listening === undefined) return;
      if (this.#closed) await listening.close();
      else this.#listening.push(listening);
    } catch (error) {
      this.#log.error('a server of the agent cannot listen; pods are not affected', { error: errorMessage(error) });
    }
  }

  addresses(): string[] {
    return this.#listening.map((each) => each.address);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#listening.map((each) => each.close()));
  }
}

/** Creates the serving certificate of the node, and the authorities of its clients. */
export function composeNodeServing(
  kubelet: Kubelet,
  platform: RealPlatform,
  { config, flags }: { readonly config: KubeletConfig; readonly flags: AgentFlags },
): Serving {
  const { clock, random, log, cluster, certificates: figures, machine } = platform;
  const { nodeName } = machine;
  // The addresses as the cluster has them, because the approver of certificate requests compares with these.
  const addresses = (): readonly NodeAddress[] => kubelet.node.watch.current()?.status?.addresses ?? [];
  const onAddresses = (listener: () => void): (() => void) => kubelet.node.watch.onChange(listener);
  return composeServing({
    security: config.security,
    gates: config.gates,
    certDir: flags.certDir,
    nodeName,
    hostname: nodeName,
    addresses,
    onAddresses,
    cluster,
    figures,
    clock,
    random,
    log,
  });
}

type ServersOptions = { readonly config: KubeletConfig; readonly flags: AgentFlags } & {
  readonly serving: Serving;
  readonly pageToken: string | undefined;
  readonly log: AdjustableLogger;
  readonly problems: () => readonly Problem[];
};

/** Opens the servers that the configuration and the flags enable. */
export async function openServers(
  servers: Servers,
  kubelet: Kubelet,
  { config, flags, serving, pageToken, log, problems }: ServersOptions,
): Promise<void> {
  const { healthzPort, healthzBindAddress, readOnlyPort, address, enabled, port } = config.server;
  const local = composeLocalSources(kubelet);
  const observer = observeRequests(kubelet.observation.metrics, () => kubelet.platform.clock.monotonicMs());
  const sources = { ...local, problems: () => [...local.problems(), ...problems()] };
  await Promise.all([
    flags.cliSocket === '' ? undefined : servers.open(listenUnix(createLocalApi(sources), flags.cliSocket)),
    enabled && port > 0
      ? servers.open(
          openSecureServer({
            platform: kubelet.platform,
            config,
            serving,
            handlers: composeServer({ kubelet, views: sources, process: processFacts(flags, log), observer }),
          }),
        )
      : undefined,
    flags.cadvisorPort > 0
      ? servers.open(openPageServer({ kubelet, views: sources, serving, port: flags.cadvisorPort, token: pageToken }))
      : undefined,
    readOnlyPort > 0
      ? servers.open(
          listenTcp(
            {
              fetch: tracedFetch(
                observedFetch(createReadOnlyApp(sources), observer, { type: 'readonly', debuggingHandlers: false }),
                kubelet.platform.tracer,
                true,
              ),
            },
            address,
            readOnlyPort,
          ),
        )
      : undefined,
    healthzPort > 0
      ? servers.open(listenTcp(createHealthApp({ ping: () => undefined }), healthzBindAddress, healthzPort))
      : undefined,
  ]);
}

/**
 * Opens the manifest server when the pods accepted earlier are known, because a list without them would end those pods.
 */
export function serveManifests(
  servers: Servers,
  kubelet: Kubelet,
  { address, token }: { address: string; token: string },
): void {
  const { log } = kubelet.platform;
  const [host, port] = splitAddress(address);
  const serve = async (): Promise<void> => {
    const manifests = await kubelet.sources.accepted();
    if (manifests !== undefined)
      await servers.open(listenTcp(createManifestServer({ manifests, token: () => token, log }), host, port));
  };
  inBackground(log, 'opening the manifest server', serve());
}

function splitAddress(address: string): [string, number] {
  const colon = address.lastIndexOf(':');
  return [address.slice(0, colon).replace(/^\[|\]$/g, ''), Number(address.slice(colon + 1))];
}
