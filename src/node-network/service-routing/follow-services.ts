import { endpointLabels } from '../../api/annotations.ts';
import type { Informers } from '../../api/client/informer.ts';
import { endpointSlices, services } from '../../api/client/resource-types.ts';
import type { Service } from '../../api/core/service.ts';
import type { EndpointSlice } from '../../api/discovery/endpoint-slice.ts';

export type SlicesOf = (service: Service) => readonly EndpointSlice[];

/** Finds the endpoint slices of a service by their label. */
export function slicesByService(informers: Informers): SlicesOf {
  const slices = informers.for(endpointSlices).index('service', ({ metadata }) => {
    const name = metadata.labels?.[endpointLabels.serviceName];
    return name === undefined ? [] : [`${metadata.namespace}/${name}`];
  });
  return ({ metadata }) => slices.get(`${metadata.namespace}/${metadata.name}`);
}

/** Calls `wake` after the first lists, and when a service or an endpoint slice changes. Returns the stop function. */
export function followServices(informers: Informers, wake: () => void): () => void {
  const ends = [informers.for(services), informers.for(endpointSlices)].map((informer) =>
    informer.addHandlers({ onAdd: wake, onUpdate: wake, onDelete: wake }),
  );
  void informers.whenSynced().then(wake);
  return () => ends.forEach((end) => end());
}
