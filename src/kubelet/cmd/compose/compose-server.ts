import path from 'node:path';
import type { Hono } from 'hono';
import { findContainer } from '../../../api/pod.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { KubeletError } from '../../../base/errors.ts';
import { linuxSystemLogs } from '../../adapters/files/linux-system-logs.ts';
import { createProfiler } from '../../adapters/process/linux-profiler.ts';
import { refuseClient, runtimeStreamMode, serveRuntimeStream } from '../../adapters/streaming/runtime-stream.ts';
import type { StreamRequest } from '../../adapters/tls/secure-listen.ts';
import type { CheckpointUse } from '../../features/server/checkpoint.ts';
import type { DebugSources } from '../../features/server/debug-routes.ts';
import { createKubeletApp } from '../../features/server/kubelet-app.ts';
import type { KubeletAppOptions, KubeletAppSources } from '../../features/server/kubelet-app.ts';
import type { OpenSources } from '../../features/server/open-app.ts';
import type { PodViews } from '../../features/server/pod-routes.ts';
import { requestLabels } from '../../features/server/request-metrics.ts';
import type { RequestLabels, RequestObserver } from '../../features/server/request-metrics.ts';
import { parseStreamPath, planStream } from '../../features/server/stream-requests.ts';
import type { StreamSources } from '../../features/server/stream-requests.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import { podUid } from '../../model/ids.ts';
import { newestContainer } from '../../model/runtime-status.ts';
import type { ContainerRuntimeStatus } from '../../model/runtime-status.ts';
import type { Kubelet } from './compose.ts';
import { visiblePods } from './compose-loop.ts';
import type { SecureHandlers } from './compose-secure-server.ts';

/** What is known of the process rather than of the node. */
export type ProcessFacts = Pick<DebugSources, 'setVerbosity' | 'flags' | 'about'>;

export interface ServerOptions {
  readonly kubelet: Kubelet;
  readonly views: OpenSources & PodViews;
  readonly process: ProcessFacts;
  readonly observer: RequestObserver;
}

const SYSTEM_LOGS = '/var/log';

/** Everything on port 10250 behind the guard: plain requests, and ways into containers. */
export function composeServer(options: ServerOptions): SecureHandlers {
  const { kubelet, observer } = options;
  const { config } = kubelet.settings;
  const app = createKubeletApp(appSources(options), appOptions(config));
  const sources = streamSources(kubelet);
  const { debuggingHandlers } = config.server;
  return {
    fetch: observedFetch(app, observer, { type: 'readwrite', debuggingHandlers }),
    openStream: (client) => {
      const end = observer.begin(
        requestLabels(
          { method: client.request.method ?? '', path: client.path },
          { type: 'readwrite', debuggingHandlers },
        ),
      );
      client.socket.once('close', end);
      if (debuggingHandlers) void openStream(client, { kubelet, sources, observer });
      else refuseClient(client.socket, { status: 405, body: 'Debug endpoints are disabled.\n' });
    },
  };
}

/** The same app, whose requests are counted. */
export function observedFetch(
  app: Pick<Hono, 'fetch'>,
  observer: RequestObserver,
  server: { readonly type: RequestLabels['serverType']; readonly debuggingHandlers: boolean },
): (request: Request) => Promise<Response> {
  return async (request) => {
    const end = observer.begin(requestLabels({ method: request.method, path: new URL(request.url).pathname }, server));
    try {
      return await app.fetch(request);
    } finally {
      end();
    }
  };
}

/** Upstream's families of requests. */
export function observeRequests({ observation, world }: Pick<Kubelet, 'observation' | 'world'>): RequestObserver {
  const { main } = observation.metrics;
  const inflight = new Map<string, number>();
  const move = (labels: Record<string, string>, by: 1 | -1): void => {
    const key = Object.values(labels).join(' ');
    const now = (inflight.get(key) ?? 0) + by;
    inflight.set(key, now);
    main.set('kubelet_http_inflight_requests', labels, now);
  };
  return {
    begin: ({ method, path: bucket, serverType, longRunning }) => {
      const labels = { method, path: bucket, server_type: serverType, long_running: String(longRunning) };
      const startedMs = world.clock.monotonicMs();
      main.count('kubelet_http_requests_total', labels);
      move(labels, 1);
      return () => {
        move(labels, -1);
        main.observe('kubelet_http_requests_duration_seconds', labels, (world.clock.monotonicMs() - startedMs) / 1000);
      };
    },
    webSocketStream: (subresource) => main.count('kubelet_websocket_streaming_requests_total', { subresource }),
  };
}

async function openStream(
  client: StreamRequest,
  { kubelet, sources, observer }: { kubelet: Kubelet; sources: StreamSources; observer: RequestObserver },
): Promise<void> {
  const { request, socket } = client;
  const { clock, log } = kubelet.world;
  const target = parseStreamPath(client.path);
  if (target === undefined) return refuseClient(socket, { status: 404, body: '404 page not found\n' });
  const isCommand = target.kind !== 'portForward';
  const { kind: mode } = runtimeStreamMode(
    request,
    isCommand ? { stdin: false, stdout: true, stderr: false, tty: false } : undefined,
  );
  const query = new URL(request.url ?? '/', 'https://kubelet').searchParams;
  const plan = await planStream(
    target,
    {
      method: request.method ?? '',
      query,
      isWebSocket: request.headers.upgrade?.toLowerCase() === 'websocket',
      isTunnel: mode === 'tunnel',
    },
    sources,
  );
  if (plan.outcome === 'refused') return refuseClient(socket, plan);
  if (mode !== 'raw') observer.webSocketStream(target.kind === 'portForward' ? 'portforward' : target.kind);
  await serveRuntimeStream(client, {
    url: plan.url,
    streams: plan.streams,
    idleMs: kubelet.settings.config.server.streamIdleTimeoutMs,
    clock,
    log,
  });
}

function appOptions({ server, gates }: KubeletConfig): KubeletAppOptions {
  const { debuggingHandlers, profilingHandler, debugFlagsHandler, systemLogHandler, systemLogQuery } = server;
  return {
    debuggingHandlers,
    profilingHandler,
    debugFlagsHandler,
    systemLogHandler,
    systemLogQuery: systemLogQuery && gates.enabled('NodeLogQuery'),
    flagz: gates.enabled('ComponentFlagz'),
    statusz: gates.enabled('ComponentStatusz'),
    checkpoints: gates.enabled('ContainerCheckpoint'),
    splitLogStreams: gates.enabled('PodLogsQuerySplitStreams'),
  };
}

function appSources({ kubelet, views, process }: ServerOptions): KubeletAppSources {
  const { world, settings } = kubelet;
  const folder = path.join(settings.rootDir, 'checkpoints');
  return {
    ...views,
    ...process,
    profiler: createProfiler(world.clock),
    nowMs: () => world.clock.nowMs(),
    systemLogs: linuxSystemLogs(SYSTEM_LOGS),
    processes: world.processes,
    run: async ({ namespace, pod: name, uid, container }, command) => {
      const pod = findPod(kubelet, namespace, name);
      if (pod === undefined || (uid !== '' && !isUidOf(kubelet, pod, uid))) throw notFound(container);
      const { exitCode, stdout, stderr } = await world.runtime.execSync(
        running(kubelet, pod, container, notFound(container)).id,
        command,
        0,
      );
      if (exitCode !== 0)
        throw new KubeletError(
          'Internal',
          `command '${command.join(' ')}' exited with ${exitCode}: ${Buffer.from(stderr).toString('utf8')}`,
        );
      return Buffer.concat([stdout, stderr]);
    },
    checkpointUse: () => checkpointUse(kubelet, folder),
    checkpoint: async ({ pod, container }, file, timeoutSeconds) => {
      await world.files.makeDirectory(folder, 0o700);
      const location = path.join(folder, file);
      await world.runtime.checkpointContainer(
        running(kubelet, pod, container, new KubeletError('NotFound', `container ${container} not found`)).id,
        location,
        timeoutSeconds,
      );
      return location;
    },
  };
}

async function checkpointUse({ world, settings }: Kubelet, folder: string): Promise<CheckpointUse> {
  const names = await world.files.list(folder).catch(() => []);
  const sizes = await Promise.all(
    names.map(async (name) => (await world.files.lstat(path.join(folder, name)))?.sizeBytes ?? 0),
  );
  const { availableBytes, capacityBytes } = await world.disk.diskUsage(settings.rootDir);
  return { count: names.length, bytes: sizes.reduce((sum, size) => sum + size, 0), availableBytes, capacityBytes };
}

function streamSources(kubelet: Kubelet): StreamSources {
  const { runtime } = kubelet.world;
  return {
    pod: (namespace, name) => findPod(kubelet, namespace, name),
    isUidOf: (pod, uid) => isUidOf(kubelet, pod, uid),
    execUrl: async (pod, name, request) =>
      runtime.execUrl({ id: running(kubelet, pod, name, notFound(name)).id, ...request }),
    attachUrl: async (pod, name, streams) => {
      const missing = new KubeletError(
        'Internal',
        `container ${name} not found in pod ${pod.metadata.name}_${pod.metadata.namespace}`,
      );
      return runtime.attachUrl({ id: running(kubelet, pod, name, missing).id, ...streams });
    },
    portForwardUrl: async (pod, ports) => {
      const sandbox = kubelet.cache.get(podUid(pod.metadata.uid))?.sandboxes.find(({ ready }) => ready);
      if (sandbox === undefined)
        throw new KubeletError(
          'Internal',
          `pod not found (${JSON.stringify(`${pod.metadata.name}_${pod.metadata.namespace}`)})`,
        );
      return runtime.portForwardUrl(sandbox.id, ports);
    },
  };
}

/** 500 in upstream as well: it is the lookup in the runtime that fails, not the one of the pod. */
const notFound = (container: string): KubeletError =>
  new KubeletError('Internal', `container not found (${JSON.stringify(container)})`);

/** Wanted pods, and those that are on their way out. */
function findPod(kubelet: Kubelet, namespace: string, name: string): Pod | undefined {
  const isMeant = ({ metadata }: Pod): boolean => metadata.name === name && metadata.namespace === namespace;
  return kubelet.store.pods().find(isMeant) ?? visiblePods(kubelet).find(isMeant);
}

function isUidOf(kubelet: Kubelet, pod: Pod, uid: string): boolean {
  return pod.metadata.uid === uid || kubelet.store.mirrorOf(pod)?.metadata.uid === uid;
}

function running(kubelet: Kubelet, pod: Pod, name: string, missing: KubeletError): ContainerRuntimeStatus {
  const runtime = kubelet.cache.get(podUid(pod.metadata.uid));
  const container =
    runtime === undefined || findContainer(pod, name) === undefined ? undefined : newestContainer(runtime, name);
  if (container?.state !== 'running') throw missing;
  return container;
}
