import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { ContainerGcParts } from './container-gc.ts';
import { ContainerGc } from './container-gc.ts';
import type { CleanupDecision } from './gc-select.ts';

/** What garbage collection reads from the pod workers. */
export interface GcWorkers {
  /** Returns the state of the pod's worker, or undefined if the pod has none. */
  stateOf(uid: PodUid): { readonly phase: string } | undefined;
  isBusy(uid: PodUid): boolean;
}

export interface CreateContainerGcParts extends Omit<ContainerGcParts, 'decideCleanup' | 'isOver' | 'platform'> {
  /** Returns the workers. It is called when they are needed, because they are created later. */
  readonly workers: () => GcWorkers;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Creates the garbage collection of containers. It leaves a pod alone while its worker runs a sync. */
export function createContainerGc({ workers, clock, random, log, ...parts }: CreateContainerGcParts): ContainerGc {
  return new ContainerGc({
    ...parts,
    decideCleanup: (uid) => decideCleanup(workers(), podUid(uid)),
    isOver: (uid) => workers().stateOf(podUid(uid))?.phase === 'finished' && !workers().isBusy(podUid(uid)),
    platform: { clock, random, log },
  });
}

/** Decides whether the containers and sandboxes of a pod are removed. */
export function decideCleanup(workers: GcWorkers, uid: PodUid): CleanupDecision {
  const state = workers.stateOf(uid);
  if (state === undefined) return 'removed';
  return workers.isBusy(uid) || state.phase === 'terminating' ? 'busy' : 'kept';
}
