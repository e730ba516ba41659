/** Labels of kubelet_http_*: few, whatever is asked for (CVE-2020-8551). */
export interface RequestLabels {
  readonly method: string;
  readonly path: string;
  readonly serverType: 'readonly' | 'readwrite';
  readonly longRunning: boolean;
}

/** Where requests are counted; whoever serves metrics implements it. */
export interface RequestObserver {
  /** Returns what is to be called when the answer is complete. */
  begin(labels: RequestLabels): () => void;
  /** kubelet_websocket_streaming_requests_total: streams that are translated here. */
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
