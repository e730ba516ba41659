import type { PodUid } from '../../model/ids.ts';
import type { PodLifecycleEvent } from '../../model/pod-lifecycle-event.ts';
import type { ContainerRuntimeStatus } from '../../model/runtime-status.ts';
import type { PlegOptions } from './pleg.ts';
import { Pleg } from './pleg.ts';

export interface CreatePlegParts extends Omit<PlegOptions, 'onEvent'> {
  /** Called for changes that the agent did not make. */
  readonly onObserved: (event: PodLifecycleEvent) => void;
  /** Called for each container that ends while the agent runs, before `onObserved`. */
  readonly onExit: (uid: PodUid, container: ContainerRuntimeStatus) => void;
}

/** Creates PLEG with the two listeners that the agent needs. It starts nothing. */
export function createPleg({ onObserved, onExit, ...options }: CreatePlegParts): Pleg {
  const pleg: Pleg = new Pleg({
    ...options,
    onEvent: (event, origin) => {
      // The agent already knows what it did.
      if (origin !== 'observed') return;
      // What ended before the agent started was recorded by its predecessor.
      if (event.kind === 'ContainerDied' && pleg.isAdopted) {
        const container = options.cache.container(event.containerId);
        if (container?.state === 'exited') onExit(event.podUid, container);
      }
      onObserved(event);
    },
  });
  return pleg;
}
