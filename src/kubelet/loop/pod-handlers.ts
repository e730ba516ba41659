import type { Logger } from '../../base/log.ts';
import { isDeleted, isMirrorPod, isStaticPod, podKey } from '../../api/pod.ts';
import { podEvents } from '../../api/reasons.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { PodStore } from '../features/pod-store/pod-store.ts';
import type { PodWorkers } from '../features/pod-workers/pod-workers.ts';
import { podUid, type PodUid } from '../model/ids.ts';
import type { PodLifecycleEvent } from '../model/pod-lifecycle-event.ts';
import type { ProbeType, ProbeVerdict } from '../model/probe-result.ts';
import type { PodUpdate } from '../model/pod-update.ts';
import { emptyPodRuntimeStatus, type PodRuntimeStatus } from '../model/runtime-status.ts';
import type { EventRecorder } from '../ports/recorder.ts';
import type { StatusUpdater } from './status-updater.ts';
import type { SyncHandlers } from './sync-loop.ts';

export interface PodHandlersParts {
  store: PodStore;
  workers: Pick<PodWorkers, 'update' | 'kill' | 'killOrphan' | 'sync' | 'stateOf'>;
  runtimePods: () => Iterable<PodRuntimeStatus>;
  /** Pods that the runtime lists and nobody could read yet: they may run. */
  unreadPods: () => Iterable<Pick<PodRuntimeStatus, 'uid' | 'name' | 'namespace'>>;
  status: Pick<StatusUpdater, 'refresh'>;
  probes: { addPod(pod: Pod): void };
  admission: {
    /** Lets in what needs no decision, before anything else is judged. */
    adopt(pods: readonly Pod[]): void;
    consider(pod: Pod): unknown;
    /** Features an update needs and the node does not declare. */
    missingFeatures(before: Pod, after: Pod): readonly string[];
  };
  /** Who was granted which resources; hears of new pods when they are admitted. */
  allocation: { podUpdated(pod: Pod): void; podRemoved(uid: PodUid): void };
  /** Static pods are shown in the API, where there is one. */
  mirrors: { podChanged(pod: Pod): void };
  recorder: EventRecorder;
  /** A source wants a pod otherwise than before. */
  onUpdate?: (before: Pod, after: Pod) => void;
  /** The set of pods or their requests changed. */
  onPodsChanged: () => void;
  cleanup: () => void;
  /** Asks for a clean-up when all that waits in the loop has been handled. */
  requestCleanup: () => void;
  log: Logger;
}

/** Unknown pods get a second to stop, as upstream gives them: nobody is left who could say how long they want. */
export const ORPHAN_GRACE_MS = 1000;

/** What the sync loop does about each input (upstream: kubelet.go HandlePodAdditions and its kin): keep the store, wake the worker. */
export function createPodHandlers(parts: PodHandlersParts): SyncHandlers {
  const { store, workers, status, log } = parts;

  const mirrorChanged = (mirror: Pod): void => parts.mirrors.podChanged(mirror);

  return {
    podAdditions(update: PodUpdate): void {
      for (const pod of update.pods) store.set(pod);
      parts.admission.adopt(update.pods.filter((pod) => !isMirrorPod(pod)));
      // Oldest first, so that pods of one moment are taken in the order they were made (upstream: sort by creation time).
      for (const pod of update.pods.toSorted(byCreation)) {
        log.info('SyncLoop ADD', { source: update.source, pod: podKey(pod), podUid: pod.metadata.uid });
        if (isMirrorPod(pod)) mirrorChanged(pod);
        else begin(parts, pod);
      }
      if (update.pods.length > 0) parts.onPodsChanged();
    },
    podUpdates(update: PodUpdate): void {
      for (const pod of update.pods) {
        log.info(`SyncLoop ${update.op}`, { source: update.source, pod: podKey(pod), podUid: pod.metadata.uid });
        const before = store.byUid(podUid(pod.metadata.uid));
        if (before !== undefined) tellUpdate(parts, before, pod);
        store.set(pod);
        if (isMirrorPod(pod)) mirrorChanged(pod);
        else change(parts, pod);
      }
      parts.onPodsChanged();
    },
    podRemoves(update: PodUpdate): void {
      for (const pod of update.pods) {
        log.info('SyncLoop REMOVE', { source: update.source, pod: podKey(pod), podUid: pod.metadata.uid });
        if (!isMirrorPod(pod)) workers.kill(podUid(pod.metadata.uid), { cause: 'removed' });
        store.remove(podUid(pod.metadata.uid));
        if (isMirrorPod(pod)) mirrorChanged(pod);
        parts.allocation.podRemoved(podUid(pod.metadata.uid));
      }
      parts.onPodsChanged();
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
      if (phase === undefined || phase === 'finished') return parts.requestCleanup();
      if (event.kind !== 'ContainerRemoved') workers.sync(event.podUid);
    },
    probeUpdate(update: { podUid: PodUid; type: ProbeType; verdict: ProbeVerdict }): void {
      status.refresh(update.podUid);
      // A failed liveness or startup probe needs a restart; a passed startup probe lets the next container start.
      if (update.type !== 'readiness') workers.sync(update.podUid);
    },
    podCleanups: () => parts.cleanup(),
  };
}

function begin(parts: PodHandlersParts, pod: Pod): void {
  endPredecessors(parts, pod);
  // Before the first status: a container that this agent found running brings its verdicts along.
  parts.probes.addPod(pod);
  // One that is still being stopped under the same uid is judged when it begins anew; one that is deleted already never begins.
  if (parts.workers.stateOf(podUid(pod.metadata.uid)) === undefined && !isDeleted(pod)) parts.admission.consider(pod);
  parts.workers.update(pod, true);
  parts.status.refresh(podUid(pod.metadata.uid));
  if (isStaticPod(pod)) parts.mirrors.podChanged(pod);
}

/**
 * A pod of the same name that still runs though no source knows it any more (its manifest changed while the agent was away) ends first.
 * So does one that could not be read yet: its worker reads it before it says that nothing of it runs, and the new pod waits that long.
 */
function endPredecessors(parts: PodHandlersParts, pod: Pod): void {
  const isPredecessor = (other: Pick<PodRuntimeStatus, 'uid' | 'name' | 'namespace'>): boolean =>
    other.name === pod.metadata.name &&
    other.namespace === pod.metadata.namespace &&
    other.uid !== pod.metadata.uid &&
    parts.store.byUid(other.uid) === undefined;
  for (const runtime of parts.runtimePods())
    if (isPredecessor(runtime)) parts.workers.killOrphan(runtime, ORPHAN_GRACE_MS);
  for (const unread of parts.unreadPods())
    if (isPredecessor(unread)) parts.workers.killOrphan(emptyPodRuntimeStatus(unread, 0), ORPHAN_GRACE_MS);
}

/** What others said of the pod counts: conditions of readiness gates, or that it is over (upstream: HandlePodReconcile). */
function statusChanged({ status, workers }: PodHandlersParts, uid: PodUid): void {
  const phase = status.refresh(uid)?.phase;
  if (phase === 'Failed' || phase === 'Succeeded') workers.sync(uid);
}

function change({ allocation, workers }: PodHandlersParts, pod: Pod): void {
  allocation.podUpdated(pod);
  workers.update(pod, false);
}

/** Upstream: HandlePodUpdates tells, and goes on. */
function tellUpdate({ admission, recorder, onUpdate }: PodHandlersParts, before: Pod, pod: Pod): void {
  if (!isMirrorPod(pod)) onUpdate?.(before, pod);
  const missing = admission.missingFeatures(before, pod);
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
