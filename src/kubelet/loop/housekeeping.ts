import { errorMessage } from '../../base/errors.ts';
import { KeyedWorkers } from '../../base/keyed-workers.ts';
import type { Logger } from '../../base/log.ts';
import type { PodWorkers } from '../features/pod-workers/pod-workers.ts';
import type { PodUid } from '../model/ids.ts';
import { isAnythingRunning, type PodRuntimeStatus } from '../model/runtime-status.ts';
import { ORPHAN_GRACE_MS } from './pod-handlers.ts';

/** Asked at the moment of each decision, because a pod may come while a cleaner is at work. */
export type KnownPods = Pick<ReadonlySet<PodUid>, 'has'>;

export interface HousekeepingParts {
  workers: Pick<PodWorkers, 'stateOf' | 'killOrphan' | 'endAgain'>;
  /** Nothing is cleaned up before every source has said which pods it wants. */
  sourcesReady: () => boolean;
  runtimePods: () => Iterable<PodRuntimeStatus>;
  /** Removes what a dead pod left in the runtime. */
  collect: (uid: PodUid) => Promise<void>;
  /** Each removes what it keeps of pods that are not known. */
  cleaners: Readonly<Record<string, (known: KnownPods) => Promise<unknown> | void>>;
  log: Logger;
}

/**
 * Brings what is left on the node in line with the pods that are wanted (upstream: kubelet_pods.go HandlePodCleanups): stops orphans
 * and what came late of pods that are over, clears what dead pods left behind, and lets each feature drop what it holds of pods nobody knows. Safe to run at any time, any often.
 * 1. Nothing is cleaned before every source has said which pods it wants.
 * 2. No cleaner runs twice at once; one that fails or hangs holds up itself only.
 */
export class Housekeeping {
  readonly #parts: HousekeepingParts;
  readonly #lanes: KeyedWorkers<string, () => Promise<unknown> | void>;

  constructor(parts: HousekeepingParts) {
    this.#parts = parts;
    this.#lanes = new KeyedWorkers({
      run: async (_name, clean) => void (await clean()),
      fold: (_pending, next) => next,
      onError: (cleaner, error) => parts.log.error('clean-up failed', { cleaner, error: errorMessage(error) }),
    });
  }

  /** Returns at once. */
  request(): void {
    const { workers, sourcesReady, runtimePods, collect, cleaners } = this.#parts;
    if (!sourcesReady()) return;
    const known: KnownPods = { has: (uid) => workers.stateOf(uid) !== undefined };
    for (const pod of [...runtimePods()]) {
      const state = workers.stateOf(pod.uid);
      if (state?.phase === 'finished' && isAnythingRunning(pod)) this.#endAgain(pod);
      if (state !== undefined) continue;
      if (isAnythingRunning(pod)) this.#killOrphan(pod);
      else this.#lanes.submit(`dead pod ${pod.uid}`, () => collect(pod.uid));
    }
    for (const [name, clean] of Object.entries(cleaners)) this.#lanes.submit(name, () => clean(known));
  }

  #endAgain(pod: PodRuntimeStatus): void {
    this.#parts.log.warn('something of a pod that is over runs, by a call that took effect late; stopping it', {
      pod: `${pod.namespace}/${pod.name}`,
      podUid: pod.uid,
    });
    this.#parts.workers.endAgain(pod.uid);
  }

  #killOrphan(pod: PodRuntimeStatus): void {
    this.#parts.log.info('stopping a pod that no source wants', {
      pod: `${pod.namespace}/${pod.name}`,
      podUid: pod.uid,
    });
    this.#parts.workers.killOrphan(pod, ORPHAN_GRACE_MS);
  }
}
