/** The labels of kubelet_http_*. Their number is small for any requests (CVE-2020-8551). */
export interface RequestLabels {
  readonly method: string;
  readonly path: string;
  readonly serverType: 'readonly' | 'readwrite';
  readonly longRunning: boolean;
}

/** Counts requests. The metrics feature implements it. */
export interface RequestObserver {
  /** Begins a request. Returns the function to call when the response is complete. */
  begin(labels: RequestLabels): () => void;
  /** Counts in kubelet_websocket_streaming_requests_total the streams that the agent translates. */
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
/**
 * The paths of long requests. Upstream writes the last but one with a small f, so forwarded ports do not count as long.
 */
const longPaths = new Set(['exec', 'attach', 'portforward', 'debug']);

/**
 * Returns the labels of a request (upstream: Server.getMetricBucket and getMetricMethodBucket). `path` is without the
 * query.
 */
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

/** Wraps the app, and counts its requests. */
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
