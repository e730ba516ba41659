import type { Informers } from '../../api/client/informer.ts';
import { endpointSlices, services } from '../../api/client/resource-types.ts';

/** Calls `wake` when all is known, and when a service or an endpoint slice changes. Returns what ends it. */
export function followServices(informers: Informers, wake: () => void): () => void {
  const ends = [informers.for(services), informers.for(endpointSlices)].map((informer) =>
    informer.addHandlers({ onAdd: wake, onUpdate: wake, onDelete: wake }),
  );
  void informers.whenSynced().then(wake);
  return () => ends.forEach((end) => end());
}
