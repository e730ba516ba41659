import type { Pod } from '../../api/core/pod.ts';
import { podFullName } from '../../api/pod.ts';
import { podEvents } from '../../api/reasons.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { EventUploader } from '../features/events/event-uploader.ts';
import type { StatusTimes } from '../features/metrics/status-times.ts';
import { apiPodOf, readMirrorFacts } from '../features/mirror-pods/mirror-facts.ts';
import { MirrorPods } from '../features/mirror-pods/mirror-pods.ts';
import type { NodeWatch } from '../features/node/node-watch.ts';
import type { ApiPodSourceOptions } from '../features/pod-config/api-source.ts';
import { ApiPodSource } from '../features/pod-config/api-source.ts';
import type { PodConfig } from '../features/pod-config/pod-config.ts';
import type { RememberedPods } from '../features/pod-config/remembered-pods.ts';
import type { PodStore } from '../features/pod-store/pod-store.ts';
import type { WorkerStates } from '../features/pod-workers/worker-states.ts';
import type { StatusManager } from '../features/status/status-manager.ts';
import { StatusUploader } from '../features/status/status-uploader.ts';
import type { PodUid } from '../model/ids.ts';
import { podUid } from '../model/ids.ts';
import type { ClusterApi } from '../ports/cluster-api.ts';
import type { EventRecorder } from '../ports/recorder.ts';
import type { PodDirectory } from './pod-directory.ts';
import type { SyncQueue } from './sync-queue.ts';

/** How the pods of this node are synchronized with the cluster. */
export interface ClusterPods {
  readonly source: ApiPodSource;
  readonly mirrors: MirrorPods;
  readonly uploader: StatusUploader;
  /** Handles a possible change of a static pod, or of the API object with its name. */
  podChanged(pod: Pod): void;
  /** Checks every static pod again: the node was registered, or all sources have reported. */
  reconcileMirrors(): void;
  /** Whether the pod has released all resources of the node. */
  released(uid: PodUid, isReleased: boolean): void;
  forget(uid: PodUid): void;
  stop(): void;
}

export interface ClusterPodsParts {
  readonly cluster: Pick<ClusterApi, 'objects' | 'status'>;
  readonly nodeName: string;
  readonly nodeWatch: Pick<NodeWatch, 'whenSynced' | 'onChange' | 'current'>;
  readonly store: PodStore;
  readonly directory: Pick<PodDirectory, 'byUid' | 'isStaticEnding'>;
  readonly states: Pick<WorkerStates, 'known'>;
  readonly statuses: StatusManager;
  /** Measures how long statuses take to reach the API server. */
  readonly statusTimes: StatusTimes;
  /** The pods of this node as the API server last reported them. */
  readonly remembered: RememberedPods;
  readonly podConfig: Pick<PodConfig, 'setSource' | 'onSourcesReady'>;
  readonly sourcesReady: () => boolean;
  /** Returns the pods whose last sync failed. */
  readonly failedPods: () => PodUid[];
  readonly eventUploader: Pick<EventUploader, 'retryNow'> | undefined;
  readonly recorder: EventRecorder;
  readonly queue: Pick<SyncQueue, 'post'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Connects the source of API pods, the upload of their statuses, and the mirror pods of static pods. */
export function createClusterPods(parts: ClusterPodsParts): ClusterPods {
  const { cluster, nodeWatch, store, states, statuses, statusTimes } = parts;
  const released = new Set<PodUid>();
  const source: ApiPodSource = createSource(parts, (change) => {
    if (change.kind === 'pod') return uploader.wake(store.runningUid(podUid(change.pod.metadata.uid)));
    uploader.wakeAll(states.known().keys());
    reconcileMirrors();
  });
  const uploader = createUploader(parts, source, released);
  const mirrors = createMirrors(parts, source);
  const reconcileMirrors = (): void => {
    for (const fullName of new Set([...store.staticPods(), ...store.mirrorPods()].map(podFullName)))
      mirrors.reconcile(fullName);
  };
  statuses.onChange(({ uid }) => statusTimes.changed(uid));
  statuses.onRecorded(({ uid }) => uploader.wake(uid));
  nodeWatch.onChange(reconcileMirrors);
  parts.podConfig.onSourcesReady(reconcileMirrors);
  const unfollow = cluster.status.onReturn?.(() => {
    uploader.wakeAll(states.known().keys());
    reconcileMirrors();
    // Delayed pods are synced now instead of at their next retry.
    parts.eventUploader?.retryNow();
    parts.queue.post({ kind: 'sync', uids: parts.failedPods() });
  });
  return {
    source,
    mirrors,
    uploader,
    podChanged: (pod) => mirrors.reconcile(podFullName(pod)),
    reconcileMirrors,
    released: (uid, isReleased) => {
      if (!isReleased) return void released.delete(uid);
      released.add(uid);
      uploader.wake(uid);
      // The mirror pod can now be replaced by that of the next pod with this name.
      reconcileMirrors();
    },
    forget: (uid) => {
      released.delete(uid);
      uploader.forget(uid);
    },
    stop: () => {
      unfollow?.();
      uploader.stop();
      mirrors.stop();
    },
  };
}

function createSource(parts: ClusterPodsParts, onChange: ApiPodSourceOptions['onChange']): ApiPodSource {
  const { cluster, nodeName, nodeWatch, remembered, podConfig, recorder, clock, random, log } = parts;
  return new ApiPodSource({
    client: cluster.objects,
    nodeName,
    nodeKnown: () => nodeWatch.whenSynced(),
    remembered,
    setPods: (pods, report) => podConfig.setSource('api', pods, report),
    onChange,
    onInvalid: (pod, problems) =>
      recorder.event(
        pod,
        'Warning',
        podEvents.failedValidation,
        `Error validating pod ${podFullName(pod)}(${pod.metadata.uid}) from api, ignoring: ${problems}`,
      ),
    clock,
    random,
    log,
  });
}

/** Creates the uploader. `released` contains the pods that have released all resources of the node. */
function createUploader(parts: ClusterPodsParts, source: ApiPodSource, released: ReadonlySet<PodUid>): StatusUploader {
  const { cluster, store, directory, statuses, statusTimes, clock, random, log } = parts;
  return new StatusUploader({
    client: cluster.status,
    statuses: {
      get: (uid) => statuses.recorded(uid)?.status,
      version: (uid) => statuses.recorded(uid)?.version ?? 0,
    },
    apiPod: (uid) => apiPodOf(source, directory.byUid(uid)),
    isReleased: (uid) => released.has(uid) && statuses.recorded(uid)?.version === statuses.version(uid),
    onWritten: (pod) => {
      statusTimes.published(store.runningUid(podUid(pod.metadata.uid)));
      return source.noteWritten(pod);
    },
    clock,
    random,
    log,
  });
}

function createMirrors(parts: ClusterPodsParts, source: ApiPodSource): MirrorPods {
  const { cluster, nodeName, nodeWatch, store, directory, sourcesReady, recorder, clock, random, log } = parts;
  const mirrorSources = {
    listed: source,
    byFullName: (fullName: string) => store.byFullName(fullName),
    nodeName,
    node: () => nodeWatch.current(),
    isEnding: (fullName: string) => directory.isStaticEnding(fullName),
    sourcesReady,
  };
  return new MirrorPods({
    client: cluster.objects,
    facts: (fullName) => readMirrorFacts(mirrorSources, fullName),
    recorder,
    clock,
    random,
    log,
  });
}
