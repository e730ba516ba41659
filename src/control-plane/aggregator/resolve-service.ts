import type { Service } from '../../api/core/service.ts';
import type { EndpointSlice } from '../../api/discovery/endpoint-slice.ts';
import type { BackendAddress, BackendService } from '../model/api-backends.ts';

export interface ServiceFacts {
  readonly service: Service | undefined;
  readonly slices: readonly EndpointSlice[];
}

/** `service` uses the cluster IP, which the machine must route. `endpoints` uses the address of one of the pods. */
export type Routing = 'service' | 'endpoints';

/**
 * The address of a Service, or a string with the reason why it has none (upstream: proxy.ResolveCluster,
 * proxy.ResolveEndpoint). `random` is a number in [0, 1), to choose among pods.
 */
export function resolveService(
  { namespace, name, port }: BackendService,
  { service, slices }: ServiceFacts,
  { routing, random }: { readonly routing: Routing; readonly random: number },
): BackendAddress | string {
  if (service === undefined) return `service "${namespace}/${name}" not found`;
  const { spec } = service;
  if (spec.type === 'ExternalName') {
    if (routing === 'endpoints') return `unsupported service type "ExternalName"`;
    return { host: spec.externalName ?? '', port };
  }
  const declared = spec.ports?.find((each) => each.port === port);
  if (declared === undefined) return `no service port ${port} found for service "${name}"`;
  const address = spec.clusterIP ?? '';
  if (routing === 'service' && address !== '' && address !== 'None') return { host: address, port };
  const candidates = readyAddresses(slices, declared.name ?? '');
  return (
    candidates[Math.floor(random * candidates.length)] ?? `no endpoints available for service "${namespace}/${name}"`
  );
}

/** Returns the ready addresses of the ports with that name. A missing ready condition counts as ready. */
export function readyAddresses(slices: readonly EndpointSlice[], portName: string): readonly BackendAddress[] {
  return slices.flatMap(({ ports, endpoints }) => {
    const port = ports?.find((each) => (each.name ?? '') === portName)?.port;
    if (port === undefined) return [];
    return (endpoints ?? [])
      .filter(({ conditions }) => conditions?.ready !== false)
      .flatMap(({ addresses }) => addresses.slice(0, 1).map((host) => ({ host, port })));
  });
}
