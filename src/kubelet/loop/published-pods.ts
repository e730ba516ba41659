import type { Pod } from '../../api/core/pod.ts';
import type { PodWorkers } from '../features/pod-workers/pod-workers.ts';
import type { RuntimeCache } from '../features/pleg/runtime-cache.ts';
import type { StatusManager } from '../features/status/status-manager.ts';
import { podUid } from '../model/ids.ts';
import type { PodRuntimeStatus } from '../model/runtime-status.ts';
import { isAnythingRunning } from '../model/runtime-status.ts';
import type { PodChanges } from './pod-changes.ts';
import type { PodDirectory } from './pod-directory.ts';
import type { SyncQueue } from './sync-queue.ts';

export interface PublishedPodsParts {
  readonly directory: Pick<PodDirectory, 'visible'>;
  readonly queue: Pick<SyncQueue, 'waitingPods'>;
  readonly statuses: Pick<StatusManager, 'recorded' | 'onRecorded'>;
  readonly cache: Pick<RuntimeCache, 'get' | 'all' | 'isRead'>;
  readonly workers: Pick<PodWorkers, 'stateOf' | 'sinceMs'>;
  readonly changes: Pick<PodChanges, 'onGone'>;
  /** Whether the agent has no API server. */
  readonly standalone: boolean;
  /** The wall clock. */
  readonly nowMs: () => number;
}

/** A pod as clients of the node see it now, or the last state of one that was removed. */
export interface PublishedChange {
  readonly type: 'MODIFIED' | 'DELETED';
  readonly pod: Pod;
}

/** The pods that the node's own APIs show, with their latest statuses. */
export class PublishedPods {
  readonly #parts: PublishedPodsParts;

  constructor(parts: PublishedPodsParts) {
    this.#parts = parts;
  }

  /**
   * Returns the pods whose state is known. A pod without a published status may run and be ready until the runtime was
   * read and has no container of it. Showing it as Pending would be a false readiness change. `explain` shows the
   * reason.
   */
  pods(): Pod[] {
    const { directory, queue, statuses } = this.#parts;
    const waiting = new Set(queue.waitingPods().map(({ metadata }) => metadata.uid));
    return directory
      .visible()
      .filter(
        (pod) =>
          statuses.recorded(podUid(pod.metadata.uid)) !== undefined ||
          (this.#hasNoContainer(pod) && !waiting.has(pod.metadata.uid)),
      )
      .map((pod) => this.#published(pod));
  }

  /** Returns the pods with a running container, without their specs (upstream: kubecontainer.Pod.ToAPIPod). */
  runningPods(): Pod[] {
    return [...this.#parts.cache.all()].filter(isAnythingRunning).map(runningPod);
  }

  /** Calls `onChange` with each published status and each removed pod; returns the function that unsubscribes. */
  watch(onChange: (change: PublishedChange) => void): () => void {
    const { statuses, changes } = this.#parts;
    const stops = [
      statuses.onRecorded(({ pod }) => onChange({ type: 'MODIFIED', pod: this.#published(pod) })),
      changes.onGone((pod) => onChange({ type: 'DELETED', pod })),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  }

  #hasNoContainer({ metadata }: Pod): boolean {
    const uid = podUid(metadata.uid);
    const { cache } = this.#parts;
    return cache.isRead(uid) && (cache.get(uid)?.containers ?? []).length === 0;
  }

  /**
   * Returns the pod with its latest status. A pod that is being stopped gets a deletion timestamp, as a deleted pod
   * has.
   */
  #published(pod: Pod): Pod {
    const { workers, nowMs } = this.#parts;
    const uid = podUid(pod.metadata.uid);
    const state = workers.stateOf(uid);
    const shown: Pod = { apiVersion: 'v1', kind: 'Pod', ...pod, status: this.#statusOf(pod) };
    const isEnding =
      (state?.phase === 'terminating' || state?.phase === 'terminated') && state.termination.cause !== 'completed';
    if (!isEnding || pod.metadata.deletionTimestamp !== undefined) return shown;
    const deletionTimestamp = new Date(workers.sinceMs(uid) ?? nowMs()).toISOString();
    return { ...shown, metadata: { ...pod.metadata, deletionTimestamp } };
  }

  /**
   * Returns the latest status. Without an API server, `startTime` is the time of the pod's first status in this run, so
   * that clients can distinguish it from a status of an earlier run (upstream: status_manager.go updateStatusInternal).
   */
  #statusOf(pod: Pod): Pod['status'] {
    const { statuses, standalone } = this.#parts;
    const { status = pod.status, startTimeInRun } = statuses.recorded(podUid(pod.metadata.uid)) ?? {};
    return standalone && startTimeInRun !== undefined ? { ...status, startTime: startTimeInRun } : status;
  }
}

function runningPod({ uid, name, namespace, containers }: PodRuntimeStatus): Pod {
  const running = containers.filter(({ state }) => state === 'running');
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { uid, name, namespace },
    spec: { containers: running.map((container) => ({ name: container.name, image: container.image })) },
    status: {},
  };
}
