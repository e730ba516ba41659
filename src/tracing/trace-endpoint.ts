import type { GrpcTarget } from '../grpc/grpc-channel.ts';

/** Where upstream's exporter sends to when the configuration names no endpoint. */
export const DEFAULT_TRACE_ENDPOINT = 'localhost:4317';

/**
 * What an endpoint in gRPC's notation leads to: `host:port`, `dns:///host:port`, `dns://server/host:port` (the name
 * server is not asked) or `unix:///path`. Undefined for what Node cannot connect to (`unix-abstract`). Never TLS
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
