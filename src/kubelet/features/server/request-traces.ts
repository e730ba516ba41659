import type { Span, SpanStart, TraceHeaders, Tracer } from '../../../base/tracer.ts';

const SCOPE = 'go.opentelemetry.io/contrib/instrumentation/github.com/emicklei/go-restful/otelrestful';

const inContainer = ['{podNamespace}/{podID}/{containerName}', '{podNamespace}/{podID}/{uid}/{containerName}'];
const inPod = ['{podNamespace}/{podID}', '{podNamespace}/{podID}/{uid}'];
/**
 * The routes by the first part of the path. The values are the rest of upstream's routes, by the number of their parts.
 */
const routes: ReadonlyMap<string, readonly string[]> = new Map([
  ['pods', ['']],
  ['runningpods', ['']],
  ['run', inContainer],
  ['exec', inContainer],
  ['attach', inContainer],
  ['portForward', inPod],
  ['containerLogs', inContainer.slice(0, 1)],
  ['checkpoint', inContainer.slice(0, 1)],
]);

/**
 * Returns the route of a request as upstream names it; undefined for what upstream serves without a route and without a
 * span: health, metrics, configz (upstream: server.go InstallDefaultHandlers, InstallAuthRequiredHandlers).
 */
export function requestRoute(path: string): string | undefined {
  const [first = '', ...rest] = path.replace(/^\//, '').replace(/\/$/, '').split('/');
  if (first === 'logs') return rest.length === 0 ? '/logs/' : '/logs/{logpath:*}';
  if (first === 'debug') return rest[0] === 'pprof' ? '/debug/pprof/{subpath:*}' : undefined;
  if (first === 'stats') return rest.join('/') === 'summary' ? '/stats/summary' : undefined;
  const tail = routes
    .get(first)
    ?.find((each) => (each === '' ? rest.length === 0 : each.split('/').length === rest.length));
  if (tail === undefined) return undefined;
  return tail === '' ? `/${first}${first === 'runningpods' ? '/' : ''}` : `/${first}/${tail}`;
}

export interface RequestFacts {
  readonly method: string;
  /** The path without the query. */
  readonly path: string;
  readonly headers: TraceHeaders;
}

/** Returns the span of a request; undefined if it has none. */
export function requestSpan({ method, path, headers }: RequestFacts, isPublic: boolean): SpanStart | undefined {
  const route = requestRoute(path);
  if (route === undefined) return undefined;
  return {
    name: route,
    scope: SCOPE,
    kind: 'server',
    incoming: headers,
    isPublic,
    attributes: { 'http.request.method': method, 'http.route': route, 'server.address': 'kubelet', 'url.path': path },
  };
}

type Fetch = (request: Request) => Promise<Response>;

/** Wraps the server, and traces its requests. `isPublic` is for clients that were not authenticated. */
export function tracedFetch(fetch: Fetch, tracer: Tracer | undefined, isPublic = false): Fetch {
  if (tracer === undefined) return fetch;
  return (request) => {
    const { method, url, headers } = request;
    const start = requestSpan(
      { method, path: new URL(url).pathname, headers: traceHeaders((name) => headers.get(name)) },
      isPublic,
    );
    return start === undefined
      ? fetch(request)
      : tracer.during(start, async (span) => {
          const response = await fetch(request);
          setStatus(span, response.status);
          return response;
        });
  };
}

/** Returns the headers that continue a trace. */
export function traceHeaders(header: (name: string) => string | null | undefined): TraceHeaders {
  return Object.fromEntries(
    ['traceparent', 'tracestate', 'baggage'].flatMap((name) => {
      const value = header(name);
      return typeof value === 'string' ? [[name, value]] : [];
    }),
  );
}

function setStatus(span: Span, status: number): void {
  span.set({ 'http.response.status_code': status });
  if (status >= 500) span.fail('');
}
