import type { Service } from '../../api/core/service.ts';
import type { EndpointSlice } from '../../api/discovery/endpoint-slice.ts';
import type { RoutingPlace, ServiceRoute } from './compute-routes.ts';
import { nodeAddresses, routesOf } from './compute-routes.ts';
import type { NodeLoadBalancer } from './node-load-balancer.ts';

interface Cached {
  readonly service: Service;
  readonly slices: readonly EndpointSlice[];
  readonly nodeAddress: string | undefined;
  readonly routes: readonly ServiceRoute[];
}

/**
 * Returns the same route objects while the service, its slices and the node are unchanged, because comparing objects is
 * cheap.
 */
export class RouteCache {
  #cached = new Map<string, Cached>();
  #place: RoutingPlace | undefined;

  compute(
    services: readonly Service[],
    slicesOf: (service: Service) => readonly EndpointSlice[],
    place: RoutingPlace,
    balancer: NodeLoadBalancer | undefined,
  ): ServiceRoute[] {
    const isSamePlace =
      this.#place?.nodeName === place.nodeName &&
      this.#place.zone === place.zone &&
      this.#place.family === place.family;
    const before = isSamePlace ? this.#cached : new Map<string, Cached>();
    this.#place = place;
    const nodeAddressOf = nodeAddresses(services, balancer, place.family);
    const cached = new Map<string, Cached>();
    for (const service of services) {
      const key = `${service.metadata.namespace}/${service.metadata.name}`;
      const [slices, nodeAddress, known] = [slicesOf(service), nodeAddressOf(service), before.get(key)];
      const isSame =
        known?.service === service &&
        known.nodeAddress === nodeAddress &&
        known.slices.length === slices.length &&
        known.slices.every((slice, index) => slice === slices[index]);
      cached.set(
        key,
        isSame ? known : { service, slices, nodeAddress, routes: routesOf(service, slices, nodeAddress, place) },
      );
    }
    this.#cached = cached;
    return [...cached.values()].flatMap(({ routes }) => routes);
  }
}
