import type { Pod } from '../../../api/core/pod.ts';
import type { SpanStart, SpanValue, Tracer } from '../../../base/tracer.ts';

const SCOPE = 'k8s.io/kubernetes/pkg/kubelet';

interface PodWork {
  readonly pod: Pod;
}

interface TerminatingWork {
  readonly subject:
    | { readonly kind: 'pod'; readonly pod: Pod }
    | {
        readonly kind: 'orphan';
        readonly runtime: { readonly uid: string; readonly name: string; readonly namespace: string };
      };
}

interface FinishedWork {
  readonly uid: string;
}

interface Syncer<Work extends PodWork, Result, Terminating, Terminated, Finished> {
  syncPod(work: Work): Promise<Result>;
  syncTerminatingPod(work: Terminating): Promise<void>;
  syncTerminatedPod(work: Terminated): Promise<void>;
  finished(work: Finished): void;
}

/**
 * Traces each sync of a pod. Calls to the runtime and the API server during the sync are children of its span. Without
 * a tracer it returns the same syncer (upstream: kubelet.go SyncPod, SyncTerminatingPod, SyncTerminatedPod).
 */
export function tracedSyncer<
  Work extends PodWork,
  Result,
  Terminating extends TerminatingWork,
  Terminated extends PodWork,
  Finished extends FinishedWork,
>(
  syncer: Syncer<Work, Result, Terminating, Terminated, Finished>,
  tracer: Tracer | undefined,
): Syncer<Work, Result, Terminating, Terminated, Finished> {
  if (tracer === undefined) return syncer;
  /** The generation that each pod had in its last sync. */
  const generations = new Map<string, number | undefined>();
  return {
    syncPod: (work) => {
      const { metadata } = work.pod;
      const type = updateType(generations, work.pod);
      generations.set(metadata.uid, metadata.generation);
      return tracer.during(podSpan('syncPod', metadata, { 'k8s.pod.update_type': type }), () => syncer.syncPod(work));
    },
    syncTerminatingPod: (work) => {
      const { subject } = work;
      const of = subject.kind === 'pod' ? subject.pod.metadata : subject.runtime;
      return tracer.during(podSpan('syncTerminatingPod', of), () => syncer.syncTerminatingPod(work));
    },
    syncTerminatedPod: (work) =>
      tracer.during(podSpan('syncTerminatedPod', work.pod.metadata), () => syncer.syncTerminatedPod(work)),
    finished: (work) => {
      generations.delete(work.uid);
      syncer.finished(work);
    },
  };
}

/** Returns upstream's name of the cause: the first sync, a change of the specification, or another one. */
function updateType(
  generations: ReadonlyMap<string, number | undefined>,
  { metadata }: Pod,
): 'create' | 'update' | 'sync' {
  if (!generations.has(metadata.uid)) return 'create';
  return generations.get(metadata.uid) === metadata.generation ? 'sync' : 'update';
}

function podSpan(
  name: string,
  pod: { readonly uid: string; readonly name: string; readonly namespace: string },
  attributes: Readonly<Record<string, SpanValue>> = {},
): SpanStart {
  return {
    name,
    scope: SCOPE,
    attributes: {
      'k8s.pod.uid': pod.uid,
      'k8s.pod': `${pod.namespace}/${pod.name}`,
      'k8s.pod.name': pod.name,
      'k8s.namespace.name': pod.namespace,
      ...attributes,
    },
  };
}
