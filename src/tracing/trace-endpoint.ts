import type { GrpcTarget } from '../grpc/grpc-channel.ts';

/** The default endpoint of upstream's exporter. */
export const DEFAULT_TRACE_ENDPOINT = 'localhost:4317';

/**
 * Parses an endpoint in gRPC's notation: `host:port`, `dns:///host:port`, `dns://server/host:port` (the name server is
 * ignored) or `unix:///path`. Undefined for an address that Node cannot connect to (`unix-abstract`). TLS is never used
 * (upstream: component-base tracing NewProvider).
 */
export function traceTarget(endpoint: string): GrpcTarget | undefined {
  const [, scheme = 'dns', rest = ''] = /^(?:([a-z-]+):\/\/)?(.*)$/s.exec(endpoint) ?? [];
  if (scheme === 'unix') return { socketPath: rest };
  if (scheme !== 'dns') return undefined;
  const target = rest.slice(rest.lastIndexOf('/') + 1);
  const address = target === '' ? DEFAULT_TRACE_ENDPOINT : target;
  return URL.canParse(`http://${address}`) ? { address } : undefined;
}
