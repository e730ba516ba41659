import path from 'node:path';
import type { Clock } from '../../../base/clock.ts';
import { errorMessage, isKind } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { CriCallRecord, CriClient } from '../../../cri/cri-client.ts';
import { createCriClient } from '../../../cri/cri-client.ts';
import { streamImageLists, streamRuntimeLists } from '../../../cri/streamed-lists.ts';
import { containerdEventSource, criEventSource } from '../../adapters/cri/cri-events.ts';
import { CriImages } from '../../adapters/cri/cri-images.ts';
import { CriRuntime } from '../../adapters/cri/cri-runtime.ts';
import { linuxLogFiles } from '../../adapters/files/linux-log-files.ts';
import { readTerminationMessage } from '../../features/container-logs/termination-message.ts';
import { DEFAULT_RUNTIME_ENDPOINT } from '../../model/config/defaults.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import type { ContainerRuntime, RuntimeVersion } from '../../ports/runtime.ts';
import type { DockerFlags } from '../flags/docker-flags.ts';
import type { AgentFlags } from '../flags/flags-values-agent.ts';
import { orRefuse } from '../or-refuse.ts';
import type { RuntimeEventSource } from '../../ports/runtime.ts';
import type { Tracer } from '../../../base/tracer.ts';

export interface OpenedRuntime {
  readonly runtime: ContainerRuntime;
  /** The runtime's own name, or "containerd" while it does not answer. */
  readonly name: string;
  readonly images: CriImages;
  readonly eventSources: readonly RuntimeEventSource[];
  /** The connection to the runtime, and that to its image service. They may be the same. */
  readonly client: CriClient;
  readonly imageClient: CriClient;
  /** Calls the listener after each call to the runtime. */
  readonly runtimeCalls: (listener: (call: CriCallRecord) => void) => void;
  close(): Promise<void>;
}

/**
 * Connects to the container runtime. If Docker is the runtime, it starts the dockershim first. A runtime that does not
 * answer is not an error: pods wait until it does.
 */
export async function openRuntime({
  config,
  flags,
  clock,
  tracer,
  log,
}: {
  readonly config: KubeletConfig;
  readonly flags: AgentFlags;
  readonly clock: Clock;
  readonly tracer: Tracer | undefined;
  readonly log: Logger;
}): Promise<OpenedRuntime> {
  const listeners = new Set<(call: CriCallRecord) => void>();
  const observe = (call: CriCallRecord): void => listeners.forEach((listener) => listener(call));
  const shim = flags.docker === undefined ? undefined : await startShim(flags.docker, { config, flags, log });
  const endpoint = shim?.endpoint ?? config.runtime.endpoint;
  const imageEndpoint = shim?.endpoint ?? imageEndpointOf(config);
  const calling = { clock, observe, requestTimeoutMs: config.runtime.requestTimeoutMs, tracer };
  const connect = (to: string): CriClient => {
    const connected = createCriClient({ endpoint: to, ...calling });
    if (!config.gates.enabled('CRIListStreaming')) return connected;
    return {
      ...connected,
      runtime: streamRuntimeLists(connected.runtime, log),
      images: streamImageLists(connected.images, log),
    };
  };
  const client = connect(endpoint);
  const imageClient = imageEndpoint === endpoint ? client : connect(imageEndpoint);
  const messages = { logFiles: linuxLogFiles, rootDir: flags.rootDir, podLogsDir: config.containerLogs.podLogsDir };
  const runtime = new CriRuntime(client.runtime, (status) => readTerminationMessage(messages, status), clock);
  const version = await awaitVersion(runtime, clock, log);
  if (version !== undefined)
    log.info('container runtime', { name: version.name, version: version.version, apiVersion: version.apiVersion });
  return {
    runtime,
    name: version?.name ?? 'containerd',
    images: new CriImages(imageClient.images),
    eventSources: [criEventSource(client.runtime), containerdEventSource(client.channel, client.runtime)],
    client,
    imageClient,
    runtimeCalls: (listener) => void listeners.add(listener),
    close: async () => {
      for (const each of new Set([client, imageClient])) each.close();
      await shim?.stop();
    },
  };
}

/** The socket of Docker's CRI, unless the configuration names another one (upstream, until 1.23). */
const DOCKERSHIM_ENDPOINT = 'unix:///var/run/dockershim.sock';

/** Starts the dockershim in this process. It is loaded at its first use. */
async function startShim(
  docker: DockerFlags,
  { config, flags, log }: { config: KubeletConfig; flags: AgentFlags; log: Logger },
): Promise<{ readonly endpoint: string; stop(): Promise<void> }> {
  const { startDockershim, defaultDockershimOptions } = await import('../../../dockershim/cmd/start-dockershim.ts');
  const given = config.runtime.endpoint;
  const endpoint = given === DEFAULT_RUNTIME_ENDPOINT ? DOCKERSHIM_ENDPOINT : given;
  const rootFolder = path.join(flags.rootDir, 'dockershim');
  const shim = await orRefuse(
    `the dockershim cannot serve on ${endpoint}`,
    startDockershim({ ...defaultDockershimOptions, ...docker, rootFolder, listen: endpoint }, log),
  );
  return { endpoint, stop: () => shim.stop() };
}

function imageEndpointOf(config: KubeletConfig): string {
  return config.runtime.imageEndpoint === '' ? config.runtime.endpoint : config.runtime.imageEndpoint;
}

/** How long the agent waits for a runtime that does not answer. It then continues, and the runtime monitor retries. */
const RUNTIME_PATIENCE_MS = 5000;
const RUNTIME_RETRY_MS = 100;

async function awaitVersion(runtime: ContainerRuntime, clock: Clock, log: Logger): Promise<RuntimeVersion | undefined> {
  const endMs = clock.monotonicMs() + RUNTIME_PATIENCE_MS;
  for (;;) {
    try {
      return await runtime.version({ timeoutMs: RUNTIME_PATIENCE_MS });
    } catch (error) {
      // An error of the runtime is an answer, so there is nothing to wait for.
      const isAway = isKind(error, 'Unavailable') || isKind(error, 'Timeout');
      if (!isAway || clock.monotonicMs() >= endMs) {
        log.error('the container runtime does not answer; pods wait until it does', { error: errorMessage(error) });
        return undefined;
      }
      await new Promise<void>((resolve) => clock.setTimer(RUNTIME_RETRY_MS, resolve));
    }
  }
}
