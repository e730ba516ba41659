import type { Span, Tracer } from '../../../base/tracer.ts';
import { headerOf } from '../http/http-request.ts';
import type { HttpRequest } from '../http/http-request.ts';
import type { Reply } from '../http/reply.ts';
import type { Exchange } from './exchange.ts';
import type { RequestInfo } from './request-info.ts';
import type { RequestObserver } from './request-path.ts';

const SCOPE = 'go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp';
const carried = ['traceparent', 'tracestate', 'baggage'];
/** Clients in these groups decide whether a request is traced; traces of others are only linked. */
const trustedGroups = new Set(['system:masters', 'system:monitoring']);

/**
 * Creates a span for each request, from when its user is known until the response is complete (upstream:
 * endpoints/filters/traces.go).
 */
export function createTraceObserver(tracer: Tracer): RequestObserver {
  const spans = new WeakMap<Exchange, Span>();
  return {
    begin: (exchange) => {
      const { http, user, info } = exchange;
      if (spans.has(exchange)) return;
      const span = tracer.begin({
        name: spanName(http.method, info),
        scope: SCOPE,
        kind: 'server',
        incoming: traceHeaders(http),
        isPublic: !user.groups.some((group) => trustedGroups.has(group)),
        attributes: {
          'http.request.method': http.method,
          'url.path': exchange.path,
          'audit-id': exchange.auditId,
        },
      });
      spans.set(exchange, span);
    },
    done: (exchange, reply) => {
      const span = spans.get(exchange);
      if (span === undefined) return;
      const status = statusOfReply(reply);
      if (status !== undefined) span.set({ 'http.response.status_code': status });
      if (status !== undefined && status >= 500) span.fail('');
      span.end();
    },
  };
}

/** Returns the span name without object names, to limit the number of names. */
function spanName(method: string, info: RequestInfo): string {
  if (!info.resourceRequest) return method;
  const { prefix, group, version, namespace, resource, name, subresource } = info;
  const parts = [
    prefix,
    group,
    version,
    namespace === '' ? '' : 'namespaces/{:namespace}',
    resource,
    name === '' ? '' : '{:name}',
    subresource,
  ];
  return `${method} /${parts.filter((part) => part !== '').join('/')}`;
}

function traceHeaders({ headers }: HttpRequest): Record<string, string> {
  return Object.fromEntries(
    carried.flatMap((name) => {
      const value = headerOf(headers, name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** Returns the status, or undefined for a connection that switched protocols. */
const statusOfReply = (reply: Reply): number | undefined => (reply.kind === 'taken' ? undefined : reply.status);
