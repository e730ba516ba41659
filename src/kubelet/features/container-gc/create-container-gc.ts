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
  /** Undefined for a pod that has no worker. */
  stateOf(uid: PodUid): { readonly phase: string } | undefined;
  isBusy(uid: PodUid): boolean;
}

export interface CreateContainerGcParts extends Omit<ContainerGcParts, 'decideCleanup' | 'isOver' | 'platform'> {
  /** Read when needed: the workers are created later. */
  readonly workers: () => GcWorkers;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Garbage collection of containers; leaves a pod alone while its worker runs a pass. */
export function createContainerGc({ workers, clock, random, log, ...parts }: CreateContainerGcParts): ContainerGc {
  return new ContainerGc({
    ...parts,
    decideCleanup: (uid) => decideCleanup(workers(), podUid(uid)),
    isOver: (uid) => workers().stateOf(podUid(uid))?.phase === 'finished' && !workers().isBusy(podUid(uid)),
    platform: { clock, random, log },
  });
}

/** What happens to the remains of a pod in the runtime. */
export function decideCleanup(workers: GcWorkers, uid: PodUid): CleanupDecision {
  const state = workers.stateOf(uid);
  if (state === undefined) return 'removed';
  return workers.isBusy(uid) || state.phase === 'terminating' ? 'busy' : 'kept';
}
