import type { Pod } from '../../../api/core/pod.ts';
import type { Observation } from './observation.ts';
import { staticLabel } from './pod-counts.ts';

interface TerminatingWork {
  readonly subject: { kind: 'pod' } | { kind: 'orphan'; runtime: { uid: string } };
}

interface FinishedWork {
  readonly uid: string;
  readonly pod: Pod | undefined;
  readonly revived: boolean;
}

/** The methods of the pod syncer that are counted. */
interface Syncer<Result, Terminating, Terminated, Finished> {
  syncPod(work: { pod: Pod; firstSeenMs: number; signal: AbortSignal }): Promise<Result>;
  syncTerminatingPod(work: Terminating): Promise<void>;
  syncTerminatedPod(work: Terminated): Promise<void>;
  finished(work: Finished): void;
}

/** Wraps the syncer, and counts syncs of pods by their purpose. */
export function observedSyncer<Result, Terminating extends TerminatingWork, Terminated, Finished extends FinishedWork>(
  syncer: Syncer<Result, Terminating, Terminated, Finished>,
  { metrics: { main } }: Pick<Observation, 'metrics'>,
  monotonicMs: () => number,
): Syncer<Result, Terminating, Terminated, Finished> {
  const started = new Set<string>();
  const orphans = new Set<string>();
  const timed = async <T>(type: string, work: Promise<T>): Promise<T> => {
    const startMs = monotonicMs();
    try {
      return await work;
    } finally {
      main.observe('kubelet_pod_worker_duration_seconds', { operation_type: type }, (monotonicMs() - startMs) / 1000);
    }
  };
  return {
    syncPod: (work) => {
      const { uid } = work.pod.metadata;
      const isFirst = !started.has(uid);
      started.add(uid);
      if (isFirst)
        main.observe('kubelet_pod_worker_start_duration_seconds', {}, (monotonicMs() - work.firstSeenMs) / 1000);
      return timed(isFirst ? 'create' : 'sync', syncer.syncPod(work));
    },
    syncTerminatingPod: (work) => {
      const { subject } = work;
      if (subject.kind === 'orphan' && !orphans.has(subject.runtime.uid)) {
        orphans.add(subject.runtime.uid);
        main.count('kubelet_orphaned_runtime_pods_total');
      }
      return timed('terminating', syncer.syncTerminatingPod(work));
    },
    syncTerminatedPod: (work) => timed('terminated', syncer.syncTerminatedPod(work)),
    finished: (work) => {
      started.delete(work.uid);
      orphans.delete(work.uid);
      if (work.revived && work.pod !== undefined)
        main.count('kubelet_restarted_pods_total', { static: staticLabel(work.pod) });
      syncer.finished(work);
    },
  };
}
