import type { Pod } from '../../../api/core/pod.ts';
import type { PodStatus } from '../../../api/core/pod-status.ts';
import { isDeleted } from '../../../api/pod.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { PodExplanation } from '../../../api/explanation/explanation.ts';
import type { ActivityTracker } from './activity-tracker.ts';
import type { BlockerFacts, Failure } from './compute-blockers.ts';
import { computeBlockers } from './compute-blockers.ts';
import type { Timeline } from './timeline.ts';

/** The parts of other features that explain reads. */
export interface ExplainSources {
  pods(): Iterable<Pod>;
  status(uid: PodUid): PodStatus | undefined;
  worker(
    uid: PodUid,
  ): Pick<
    BlockerFacts,
    'worker' | 'workerSinceMs' | 'graceEndsMs' | 'isGraceOver' | 'retry' | 'busySinceMs' | 'heldBack'
  >;
  probes(uid: PodUid): BlockerFacts['probes'];
  volumes(uid: PodUid): BlockerFacts['volumes'];
  /** Returns suggestions for a pod that waits. */
  suggestions(pod: Pod): readonly string[];
  /** Returns the outage of the API server, if the pod may be waiting for it. */
  outage?(pod: Pod): { readonly sinceMs: number; readonly message: string } | undefined;
}

/** Stores the failures of the last sync of each pod, and explains why a pod is not settled. */
export class ExplainStore {
  readonly #sources: ExplainSources;
  readonly #activityTracker: ActivityTracker;
  readonly #timeline: Timeline;
  readonly #outcomes = new Map<PodUid, Pick<BlockerFacts, 'failures' | 'waits'>>();

  constructor(parts: { sources: ExplainSources; activityTracker: ActivityTracker; timeline: Timeline }) {
    this.#sources = parts.sources;
    this.#activityTracker = parts.activityTracker;
    this.#timeline = parts.timeline;
  }

  /** Stores the result of a sync. A repeated failure keeps its `since`. */
  setOutcome(uid: PodUid, outcome: { failures: readonly Failure[]; waits: BlockerFacts['waits'] }): void {
    const before = this.#outcomes.get(uid)?.failures ?? [];
    const failures = outcome.failures.map((failure) => {
      const same = before.find((candidate) => candidate.step === failure.step && candidate.reason === failure.reason);
      return same === undefined ? failure : { ...failure, sinceMs: same.sinceMs };
    });
    if (failures.length === 0 && outcome.waits.length === 0) this.#outcomes.delete(uid);
    else this.#outcomes.set(uid, { failures, waits: outcome.waits });
  }

  explain(pod: Pod): PodExplanation {
    const uid = podUid(pod.metadata.uid ?? '');
    const status = this.#sources.status(uid);
    const outcome = this.#outcomes.get(uid) ?? { failures: [], waits: [] };
    const { worker, probes, volumes } = this.#sources;
    const found = computeBlockers({
      pod,
      status,
      activities: this.#activityTracker.of(uid),
      probes: probes(uid),
      volumes: volumes(uid),
      ...worker(uid),
      ...outcome,
    });
    const outage = found.length === 0 ? undefined : this.#sources.outage?.(pod);
    const blockers =
      outage === undefined
        ? found
        : [
            {
              step: 'query the API server',
              cause: 'it cannot be reached',
              sinceMs: outage.sinceMs,
              lastError: outage.message,
            },
            ...found,
          ];
    return {
      uid,
      namespace: pod.metadata.namespace ?? '',
      name: pod.metadata.name ?? '',
      phase: status?.phase ?? 'Pending',
      settled: blockers.length === 0,
      blockers,
      suggestions: blockers.length === 0 || isDeleted(pod) ? [] : this.#sources.suggestions(pod),
      timeline: this.#timeline.of(uid),
    };
  }

  explainAll(): PodExplanation[] {
    return [...this.#sources.pods()].map((pod) => this.explain(pod));
  }

  forget(uid: PodUid): void {
    this.#outcomes.delete(uid);
    this.#timeline.retire(uid);
  }
}
