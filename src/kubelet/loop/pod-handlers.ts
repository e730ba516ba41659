import type { Logger } from '../../base/log.ts';
import { isDeleted, isMirrorPod, isStaticPod, isTerminalPhase, podKey } from '../../api/pod.ts';
import { podEvents } from '../../api/reasons.ts';
import type { Node } from '../../api/core/node.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { AdmissionManager } from '../features/admission/admission-manager.ts';
import { missingForUpdate } from '../features/admission/predicates.ts';
import type { AllocationManager } from '../features/allocation/allocation-manager.ts';
import type { ContainerManager } from '../features/container-manager/container-manager.ts';
import type { RuntimeCache } from '../features/pleg/runtime-cache.ts';
import type { PodStore } from '../features/pod-store/pod-store.ts';
import type { PodWorkers } from '../features/pod-workers/pod-workers.ts';
import type { ProbeManager } from '../features/probes/probe-manager.ts';
import type { PodUid } from '../model/ids.ts';
import { podUid } from '../model/ids.ts';
import type { PodLifecycleEvent } from '../model/pod-lifecycle-event.ts';
import type { ProbeType, ProbeVerdict } from '../model/probe-result.ts';
import type { PodUpdate } from '../model/pod-update.ts';
import type { PodRuntimeStatus } from '../model/runtime-status.ts';
import { emptyPodRuntimeStatus } from '../model/runtime-status.ts';
import type { EventRecorder } from '../ports/recorder.ts';
import type { ClusterPods } from './cluster-pods.ts';
import type { Housekeeping } from './housekeeping.ts';
import { ORPHAN_GRACE_MS } from './housekeeping.ts';
import type { StatusUpdater } from './status-updater.ts';
import type { SyncHandlers } from './sync-loop.ts';
import type { SyncQueue } from './sync-queue.ts';

export interface PodHandlersParts {
  readonly store: PodStore;
  readonly workers: Pick<PodWorkers, 'update' | 'kill' | 'killOrphan' | 'sync' | 'stateOf'>;
  /** `unread`: pods that the runtime lists but that could not be read yet; they may run. */
  readonly cache: Pick<RuntimeCache, 'all' | 'unread'>;
  readonly status: Pick<StatusUpdater, 'refresh'>;
  readonly probes: Pick<ProbeManager, 'addPod'>;
  readonly admission: Pick<AdmissionManager, 'adopt'> & { admit(pod: Pod): unknown };
  /** Returns the node as it would be published now. */
  readonly node: () => Node;
  readonly cgroups: Pick<ContainerManager, 'podsChanged'>;
  /** Tracks allocated resources; new pods are reported to it when they are admitted. */
  readonly allocation: Pick<AllocationManager, 'podUpdated' | 'podRemoved' | 'retry'>;
  /** Static pods are shown in the API; undefined on a standalone node. */
  readonly mirrors: Pick<ClusterPods, 'podChanged'> | undefined;
  readonly recorder: EventRecorder;
  /** Called when a source changes a wanted pod. */
  readonly onUpdate?: (before: Pod, after: Pod) => void;
  readonly housekeeping: Pick<Housekeeping, 'request'>;
  readonly queue: Pick<SyncQueue, 'post'>;
  readonly log: Logger;
}

/**
 * Creates the handlers of the sync loop's inputs (upstream: kubelet.go HandlePodAdditions and the other handlers). They
 * update the store and wake the pod worker.
 */
export function createPodHandlers(parts: PodHandlersParts): SyncHandlers {
  const { store, workers, status, log } = parts;

  const mirrorChanged = (mirror: Pod): void => parts.mirrors?.podChanged(mirror);
  /** Called when the set of pods or their requests change. */
  const podsChanged = (): void => {
    parts.cgroups.podsChanged();
    parts.allocation.retry();
  };

  return {
    podAdditions(update: PodUpdate): void {
      for (const pod of update.pods) store.set(pod);
      parts.admission.adopt(update.pods.filter((pod) => !isMirrorPod(pod)));
      // Oldest first, so that pods of one batch are added in the order of creation (upstream: sort by creation time).
      for (const pod of update.pods.toSorted(byCreation)) {
        log.info('SyncLoop ADD', { source: update.source, pod: podKey(pod), podUid: pod.metadata.uid });
        if (isMirrorPod(pod)) mirrorChanged(pod);
        else begin(parts, pod);
      }
      if (update.pods.length > 0) podsChanged();
    },
    podUpdates(update: PodUpdate): void {
      for (const pod of update.pods) {
        log.info(`SyncLoop ${update.op}`, { source: update.source, pod: podKey(pod), podUid: pod.metadata.uid });
        const before = store.byUid(podUid(pod.metadata.uid));
        if (before !== undefined) reportUpdate(parts, before, pod);
        store.set(pod);
        if (isMirrorPod(pod)) mirrorChanged(pod);
        else change(parts, pod);
      }
      podsChanged();
    },
    podRemoves(update: PodUpdate): void {
      for (const pod of update.pods) {
        log.info('SyncLoop REMOVE', { source: update.source, pod: podKey(pod), podUid: pod.metadata.uid });
        if (!isMirrorPod(pod)) workers.kill(podUid(pod.metadata.uid), { cause: 'removed' });
        store.remove(podUid(pod.metadata.uid));
        if (isMirrorPod(pod)) mirrorChanged(pod);
        parts.allocation.podRemoved(podUid(pod.metadata.uid));
      }
      podsChanged();
    },
    podReconcile(update: PodUpdate): void {
      for (const pod of update.pods) {
        store.set(pod);
        if (!isMirrorPod(pod)) statusChanged(parts, podUid(pod.metadata.uid));
      }
    },
    podSyncs(uids: readonly PodUid[]): void {
      for (const uid of uids) workers.sync(uid);
    },
    lifecycleEvent(event: PodLifecycleEvent): void {
      const phase = workers.stateOf(event.podUid)?.phase;
      // The clean-up comes once all inputs that wait in the loop have been handled.
      if (phase === undefined || phase === 'finished') return parts.queue.post({ kind: 'housekeeping' });
      if (event.kind !== 'ContainerRemoved') workers.sync(event.podUid);
    },
    probeUpdate(update: { podUid: PodUid; type: ProbeType; verdict: ProbeVerdict }): void {
      status.refresh(update.podUid);
      // A failed liveness or startup probe leads to a restart. A passed startup probe lets the next container start.
      if (update.type !== 'readiness') workers.sync(update.podUid);
    },
    podCleanups: () => {
      parts.housekeeping.request();
      // The sources may have become ready with this update.
      parts.allocation.retry();
    },
  };
}

function begin(parts: PodHandlersParts, pod: Pod): void {
  endPredecessors(parts, pod);
  // This precedes the first status, so that a container that this agent found running keeps its probe results.
  parts.probes.addPod(pod);
  // A pod that is still being stopped under the same uid is admitted when it starts again; a deleted pod never starts.
  if (parts.workers.stateOf(podUid(pod.metadata.uid)) === undefined && !isDeleted(pod)) parts.admission.admit(pod);
  parts.workers.update(pod, true);
  parts.status.refresh(podUid(pod.metadata.uid));
  if (isStaticPod(pod)) parts.mirrors?.podChanged(pod);
}

/**
 * Stops pods of the same name that still run although no source lists them, for example because a manifest changed
 * while the agent was down. This includes a pod that could not be read yet: its worker reads it before it reports that
 * nothing of it runs, and the new pod waits until then.
 */
function endPredecessors(parts: PodHandlersParts, pod: Pod): void {
  const isPredecessor = (other: Pick<PodRuntimeStatus, 'uid' | 'name' | 'namespace'>): boolean =>
    other.name === pod.metadata.name &&
    other.namespace === pod.metadata.namespace &&
    other.uid !== pod.metadata.uid &&
    parts.store.byUid(other.uid) === undefined;
  for (const runtime of parts.cache.all())
    if (isPredecessor(runtime)) parts.workers.killOrphan(runtime, ORPHAN_GRACE_MS);
  for (const unread of parts.cache.unread())
    if (isPredecessor(unread)) parts.workers.killOrphan(emptyPodRuntimeStatus(unread, 0), ORPHAN_GRACE_MS);
}

/**
 * Handles status changes by other clients: conditions of readiness gates, or a terminal phase (upstream:
 * HandlePodReconcile).
 */
function statusChanged({ status, workers }: PodHandlersParts, uid: PodUid): void {
  if (isTerminalPhase(status.refresh(uid)?.phase)) workers.sync(uid);
}

function change({ allocation, workers, status }: PodHandlersParts, pod: Pod): void {
  const uid = podUid(pod.metadata.uid);
  allocation.podUpdated(pod);
  workers.update(pod, false);
  // The worker of a pod that is over makes no more syncs, so it would not report the new generation.
  if (workers.stateOf(uid)?.phase === 'finished') status.refresh(uid);
}

/** Reports the update and continues (upstream: HandlePodUpdates). */
function reportUpdate({ node, recorder, onUpdate }: PodHandlersParts, before: Pod, pod: Pod): void {
  if (!isMirrorPod(pod)) onUpdate?.(before, pod);
  const missing = missingForUpdate(before, pod, node());
  if (missing.length > 0)
    recorder.event(
      pod,
      'Warning',
      podEvents.failedNodeDeclaredFeaturesCheck,
      `Pod requires node features that are not available: ${missing.join(', ')}`,
    );
}

function byCreation(left: Pod, right: Pod): number {
  const created = (pod: Pod): string => pod.metadata.creationTimestamp ?? '';
  return created(left) < created(right) ? -1 : created(left) > created(right) ? 1 : 0;
}
