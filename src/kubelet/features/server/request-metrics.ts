/** Labels of kubelet_http_*: few, whatever is requested (CVE-2020-8551). */
export interface RequestLabels {
  readonly method: string;
  readonly path: string;
  readonly serverType: 'readonly' | 'readwrite';
  readonly longRunning: boolean;
}

/** Counts requests; implemented by the metrics feature. */
export interface RequestObserver {
  /** Returns the function to call when the response is complete. */
  begin(labels: RequestLabels): () => void;
  /** kubelet_websocket_streaming_requests_total: streams that the agent translates. */
  webSocketStream(subresource: 'exec' | 'attach' | 'portforward'): void;
}

const methods = new Set(['OPTIONS', 'GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'TRACE', 'CONNECT']);
const openPaths = ['healthz', 'pods', 'stats', 'metrics', 'metrics/cadvisor', 'metrics/probes', 'metrics/resource'];
const debugPaths = [
  ...openPaths,
  'run',
  'exec',
  'attach',
  'portForward',
  'containerLogs',
  'configz',
  'runningpods',
  'explain',
  'checkpoint',
  'logs',
  'debug',
  'flagz',
  'statusz',
];
const disabledPaths = [
  ...openPaths,
  'run',
  'exec',
  'attach',
  'portForward',
  'containerLogs',
  'runningpods',
  'pprof',
  'logs',
];
/** Upstream writes the last but one with a small f, so that forwarded ports do not count as long. */
const longPaths = new Set(['exec', 'attach', 'portforward', 'debug']);

/** Upstream: Server.getMetricBucket and getMetricMethodBucket. `path` is without the query. */
export function requestLabels(
  request: { readonly method: string; readonly path: string },
  server: { readonly type: RequestLabels['serverType']; readonly debuggingHandlers: boolean },
): RequestLabels {
  const [first = '', second] = request.path.replace(/^\//, '').split('/', 3);
  const root = first === 'metrics' && second !== undefined ? `metrics/${second}` : first;
  const path = (server.debuggingHandlers ? debugPaths : disabledPaths).includes(root) ? root : 'other';
  return {
    method: methods.has(request.method) ? request.method : 'other',
    path,
    serverType: server.type,
    longRunning: longPaths.has(path),
  };
}

/** The same app, whose requests are counted. */
export function observedFetch(
  app: { fetch(request: Request): Response | Promise<Response> },
  observer: Pick<RequestObserver, 'begin'>,
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
