import type { Endpoints } from '../core/endpoints.ts';
import type { EndpointSlice } from '../discovery/endpoint-slice.ts';

/** A copy with the defaults that the API server sets. */
export function defaultEndpoints(endpoints: Endpoints): Endpoints {
  const { subsets } = endpoints;
  if (subsets === undefined) return endpoints;
  return {
    ...endpoints,
    subsets: subsets.map((subset) =>
      subset.ports === undefined
        ? subset
        : { ...subset, ports: subset.ports.map((port) => ({ ...port, protocol: port.protocol || 'TCP' })) },
    ),
  };
}

/** A copy with the defaults that the API server sets. */
export function defaultEndpointSlice(slice: EndpointSlice): EndpointSlice {
  return {
    ...slice,
    endpoints: slice.endpoints.map((endpoint) => ({ ...endpoint, conditions: endpoint.conditions ?? {} })),
    ports: slice.ports.map((port) => ({ ...port, name: port.name ?? '', protocol: port.protocol ?? 'TCP' })),
  };
}
