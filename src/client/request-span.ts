import type { TraceHeaders, Tracer } from '../base/tracer.ts';

export interface RequestSpan {
  headers(): TraceHeaders;
  /** Ends the span when the response begins: a watch runs for minutes, and only its start can be slow. */
  answered(status: number): void;
  failed(error: unknown): void;
}

/** A request to the API server, with the name and the attributes of upstream's client (otelhttp). */
export function beginRequestSpan(
  tracer: Tracer,
  server: string,
  { method, path }: { readonly method: string; readonly path: string },
): RequestSpan {
  const { hostname, port, protocol } = new URL(server);
  const span = tracer.begin({
    name: `HTTP ${method}`,
    scope: 'go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp',
    kind: 'client',
    attributes: {
      'http.request.method': method,
      'server.address': hostname,
      'server.port': port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port),
      'url.full': new URL(path, server).href,
    },
  });
  return {
    headers: () => span.headers(),
    answered: (status) => {
      span.set({ 'http.response.status_code': status, ...(status >= 400 && { 'error.type': String(status) }) });
      if (status >= 400) span.fail('');
      span.end();
    },
    failed: (error) => {
      span.fail(error);
      span.end();
    },
  };
}
