/**
 * The health check of load balancers: whether the node has an endpoint of a service with `externalTrafficPolicy:
 * Local`. Each such service has its own port (upstream: pkg/proxy/healthcheck/service_health.go).
 */
import type { Service } from '../../api/core/service.ts';
import type { EndpointSlice } from '../../api/discovery/endpoint-slice.ts';
import { isPort } from './select-backends.ts';

export interface HealthCheck {
  readonly port: number;
  readonly namespace: string;
  readonly name: string;
  /** The number of ready endpoints on this node. */
  readonly localEndpoints: number;
}

/** Returns the checks by port number. The API server allocates each number once. */
export function computeHealthChecks(
  services: readonly Service[],
  slicesOf: (service: Service) => readonly EndpointSlice[],
  nodeName: string,
): ReadonlyMap<number, HealthCheck> {
  const checks = new Map<number, HealthCheck>();
  for (const service of services) {
    const { type, externalTrafficPolicy, healthCheckNodePort: port } = service.spec;
    if (type !== 'LoadBalancer' || externalTrafficPolicy !== 'Local' || !isPort(port)) continue;
    const { namespace, name } = service.metadata;
    checks.set(port, { port, namespace, name, localEndpoints: countLocal(slicesOf(service), nodeName) });
  }
  return checks;
}

function countLocal(slices: readonly EndpointSlice[], nodeName: string): number {
  const addresses = new Set(
    slices.flatMap(({ endpoints }) =>
      (endpoints ?? []).flatMap(({ addresses: [ip], conditions, nodeName: on }) =>
        on === nodeName && (conditions?.ready ?? true) && ip !== undefined ? [ip] : [],
      ),
    ),
  );
  return addresses.size;
}

export interface HealthAnswer {
  readonly status: 200 | 503;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Returns the answer. `isProxyHealthy` means that the kernel has the desired rules. */
export function healthAnswer({ namespace, name, localEndpoints }: HealthCheck, isProxyHealthy: boolean): HealthAnswer {
  return {
    status: localEndpoints > 0 && isProxyHealthy ? 200 : 503,
    headers: {
      'Content-Type': 'application/json',
      'X-Content-Type-Options': 'nosniff',
      'X-Load-Balancing-Endpoint-Weight': `${localEndpoints}`,
    },
    body: JSON.stringify(
      { service: { namespace, name }, localEndpoints, serviceProxyHealthy: isProxyHealthy },
      null,
      '\t',
    ),
  };
}
