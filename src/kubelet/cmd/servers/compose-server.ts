import { linuxSystemLogs } from '../../adapters/files/linux-system-logs.ts';
import { createProfiler } from '../../adapters/process/linux-profiler.ts';
import { refuseClient } from '../../adapters/net/serve-app.ts';
import { canServeAttach, serveAttach } from '../../adapters/streaming/attach-stream.ts';
import { runtimeStreamMode, serveRuntimeStream } from '../../adapters/streaming/runtime-stream.ts';
import type { StreamRequest } from '../../adapters/tls/secure-listen.ts';
import { createCheckpointFolder, runCommand } from '../../features/server/container-commands.ts';
import { ContainerLookup } from '../../features/server/container-lookup.ts';
import type { DebugSources } from '../../features/server/debug-routes.ts';
import { createKubeletApp, kubeletAppOptions } from '../../features/server/kubelet-app.ts';
import type { KubeletAppSources } from '../../features/server/kubelet-app.ts';
import type { OpenSources } from '../../features/server/open-app.ts';
import type { PodViews } from '../../features/server/pod-routes.ts';
import { observedFetch, requestLabels } from '../../features/server/request-metrics.ts';
import type { RequestObserver } from '../../features/server/request-metrics.ts';
import { requestSpan, traceHeaders, tracedFetch } from '../../features/server/request-traces.ts';
import { parseStreamPath, planStream } from '../../features/server/stream-requests.ts';
import { createAttachSource, createStreamSources } from '../../features/server/stream-sources.ts';
import type { StreamSourceParts } from '../../features/server/stream-sources.ts';
import type { Kubelet } from '../compose/compose-kubelet.ts';
import type { SecureHandlers } from './compose-secure-server.ts';

/** The facts of the process, as opposed to the node. */
export type ProcessFacts = Pick<DebugSources, 'setVerbosity' | 'flags' | 'about'>;

export interface ServerOptions {
  readonly kubelet: Kubelet;
  readonly views: OpenSources & PodViews;
  readonly process: ProcessFacts;
  readonly observer: RequestObserver;
}

const SYSTEM_LOGS = '/var/log';

/** Creates everything behind the guard of port 10250: plain requests, and streams into containers. */
export function composeServer(options: ServerOptions): SecureHandlers {
  const { kubelet, observer } = options;
  const { platform, settings, attachHistory: history } = kubelet;
  const { debuggingHandlers } = settings.config.server;
  const lookup = new ContainerLookup(kubelet);
  const app = createKubeletApp(appSources(options, lookup), kubeletAppOptions(settings.config));
  const streams = { lookup, runtime: platform.runtime, history, nowMs: () => platform.clock.nowMs() };
  return {
    fetch: tracedFetch(observedFetch(app, observer, { type: 'readwrite', debuggingHandlers }), platform.tracer),
    openStream: (client) => {
      const end = observer.begin(
        requestLabels(
          { method: client.request.method ?? '', path: client.path },
          { type: 'readwrite', debuggingHandlers },
        ),
      );
      client.socket.once('close', end);
      if (debuggingHandlers) void openTracedStream(client, { kubelet, streams, observer });
      else refuseClient(client.socket, { status: 405, body: 'Debug endpoints are disabled.\n' });
    },
  };
}

/** Opens a stream in a span that ends with the connection, as upstream's does. */
async function openTracedStream(
  client: StreamRequest,
  given: { kubelet: Kubelet; streams: StreamSourceParts; observer: RequestObserver },
): Promise<void> {
  const { tracer } = given.kubelet.platform;
  const { headers, method = '' } = client.request;
  const start = requestSpan(
    { method, path: client.path, headers: traceHeaders((name) => headers[name]?.toString()) },
    false,
  );
  if (tracer === undefined || start === undefined) return openStream(client, given);
  await tracer.during(start, async () => {
    const closed = new Promise((resolve) => client.socket.once('close', resolve));
    await openStream(client, given);
    await closed;
  });
}

async function openStream(
  client: StreamRequest,
  { kubelet, streams, observer }: { kubelet: Kubelet; streams: StreamSourceParts; observer: RequestObserver },
): Promise<void> {
  const { request, socket } = client;
  const { clock, log } = kubelet.platform;
  const target = parseStreamPath(client.path);
  if (target === undefined) return refuseClient(socket, { status: 404, body: '404 page not found\n' });
  const isCommand = target.kind !== 'portForward';
  const { kind: mode } = runtimeStreamMode(
    request,
    isCommand ? { stdin: false, stdout: true, stderr: false, tty: false } : undefined,
  );
  const isWebSocket = request.headers.upgrade?.toLowerCase() === 'websocket';
  const plan = await planStream(
    target,
    {
      method: request.method ?? '',
      query: client.query,
      isWebSocket,
      isTunnel: mode === 'tunnel',
      isServable: canServeAttach(request),
      userAgent: request.headers['user-agent'] ?? '',
    },
    createStreamSources(streams),
  );
  if (plan.outcome === 'refused') return refuseClient(socket, plan);
  if (mode !== 'raw') observer.webSocketStream(target.kind === 'portForward' ? 'portforward' : target.kind);
  const idleMs = kubelet.settings.config.server.streamIdleTimeoutMs;
  if (plan.outcome === 'attach') {
    const source = createAttachSource({ ...streams, logReader: kubelet.logReader }, plan);
    await serveAttach(client, { ...source, idleMs, clock, log });
  } else await serveRuntimeStream(client, { url: plan.url, streams: plan.streams, idleMs, clock, log });
}

function appSources({ kubelet, views, process }: ServerOptions, lookup: ContainerLookup): KubeletAppSources {
  const { platform, settings } = kubelet;
  const { runtime, files, disk, clock } = platform;
  return {
    ...views,
    ...process,
    ...createCheckpointFolder({ lookup, runtime, files, disk, rootDir: settings.rootDir }),
    profiler: createProfiler(clock),
    nowMs: () => clock.nowMs(),
    systemLogs: linuxSystemLogs(SYSTEM_LOGS),
    processes: platform.processes,
    run: (target, command) => runCommand({ lookup, runtime }, target, command),
    explain: () => kubelet.explain.explainAll(),
  };
}
