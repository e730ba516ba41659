import { errorMessage } from '../../base/errors.ts';
import { KeyedWorkers } from '../../base/keyed-workers.ts';
import type { Logger } from '../../base/log.ts';
import type { PodWorkers } from '../features/pod-workers/pod-workers.ts';
import type { RuntimeCache } from '../features/pleg/runtime-cache.ts';
import type { PodConfig } from '../features/pod-config/pod-config.ts';
import type { PodUid } from '../model/ids.ts';
import type { PodRuntimeStatus } from '../model/runtime-status.ts';
import { isAnythingRunning } from '../model/runtime-status.ts';
import type { PodCleanup } from './pod-cleanup.ts';

/** The grace period for unknown pods: one second, as in upstream, because their own grace period is not known. */
export const ORPHAN_GRACE_MS = 1000;

/** The known pods. The set is read at each decision, because a pod may be added while a cleaner runs. */
export type KnownPods = Pick<ReadonlySet<PodUid>, 'has'>;

export interface HousekeepingParts {
  readonly workers: Pick<PodWorkers, 'stateOf' | 'killOrphan' | 'endAgain'>;
  /** Tells whether every source has reported its pods. Nothing is cleaned up before that. */
  readonly podConfig: Pick<PodConfig, 'sourcesReady'>;
  readonly cache: Pick<RuntimeCache, 'all'>;
  readonly cleanup: Pick<PodCleanup, 'collect'>;
  /** The cleaners. Each removes its state of pods that are not known. */
  readonly cleaners: Readonly<Record<string, (known: KnownPods) => Promise<unknown> | void>>;
  readonly log: Logger;
}

/**
 * Removes from the node what no wanted pod needs (upstream: kubelet_pods.go HandlePodCleanups): stops orphans and late
 * containers of finished pods, removes what dead pods left in the runtime, and lets each feature drop its state for
 * unknown pods. Safe to run at any time and any number of times.
 * 1. Nothing is cleaned until every source has reported its pods.
 * 2. A cleaner never runs twice at once; one that fails or hangs does not delay the others.
 */
export class Housekeeping {
  readonly #parts: HousekeepingParts;
  readonly #queues: KeyedWorkers<string, () => Promise<unknown> | void>;

  constructor(parts: HousekeepingParts) {
    this.#parts = parts;
    this.#queues = new KeyedWorkers({
      run: async (_name, clean) => void (await clean()),
      fold: (_pending, next) => next,
      onError: (cleaner, error) => parts.log.error('clean-up failed', { cleaner, error: errorMessage(error) }),
    });
  }

  /** Requests a clean-up and returns at once. */
  request(): void {
    const { workers, podConfig, cache, cleanup, cleaners } = this.#parts;
    if (!podConfig.sourcesReady()) return;
    const known: KnownPods = { has: (uid) => workers.stateOf(uid) !== undefined };
    for (const pod of [...cache.all()]) {
      const state = workers.stateOf(pod.uid);
      if (state?.phase === 'finished' && isAnythingRunning(pod)) this.#endAgain(pod);
      if (state !== undefined) continue;
      if (isAnythingRunning(pod)) this.#killOrphan(pod);
      else this.#queues.submit(`dead pod ${pod.uid}`, () => cleanup.collect(pod.uid));
    }
    for (const [name, clean] of Object.entries(cleaners)) this.#queues.submit(name, () => clean(known));
  }

  #endAgain(pod: PodRuntimeStatus): void {
    this.#parts.log.warn('a finished pod is running again after a call that took effect late; stopping it', {
      pod: `${pod.namespace}/${pod.name}`,
      podUid: pod.uid,
    });
    this.#parts.workers.endAgain(pod.uid);
  }

  #killOrphan(pod: PodRuntimeStatus): void {
    this.#parts.log.info('stopping a pod that no source defines', {
      pod: `${pod.namespace}/${pod.name}`,
      podUid: pod.uid,
    });
    this.#parts.workers.killOrphan(pod, ORPHAN_GRACE_MS);
  }
}
