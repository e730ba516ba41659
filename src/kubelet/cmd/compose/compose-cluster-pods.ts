import type { Pod } from '../../../api/core/pod.ts';
import { isStaticPod, podFullName } from '../../../api/pod.ts';
import { podEvents } from '../../../api/reasons.ts';
import { isMirrorOf, type MirrorFacts } from '../../features/mirror-pods/mirror-pod.ts';
import { MirrorPods } from '../../features/mirror-pods/mirror-pods.ts';
import { StatusTimes } from '../../features/metrics/status-times.ts';
import { ApiPodSource } from '../../features/pod-config/api-source.ts';
import type { PodConfig } from '../../features/pod-config/pod-config.ts';
import type { PodWorkers } from '../../features/pod-workers/pod-workers.ts';
import { StatusUploader } from '../../features/status/status-uploader.ts';
import { podUid, type PodUid } from '../../model/ids.ts';
import type { LoopContext } from './compose-context.ts';

/** What the pods of this node are to its cluster. */
export interface ClusterPods {
  source: ApiPodSource;
  mirrors: MirrorPods;
  uploader: StatusUploader;
  /** A static pod, or what the API has under its name, may have changed. */
  podChanged(pod: Pod): void;
  /** Every static pod is looked at again: the node was registered, or all sources have spoken. */
  reconcileMirrors(): void;
  released(uid: PodUid, isReleased: boolean): void;
  forget(uid: PodUid): void;
  stop(): void;
}

/** undefined on a node of its own. */
export function composeClusterPods(
  context: LoopContext,
  parts: { podConfig: PodConfig; workers: () => PodWorkers; podOf: (uid: PodUid) => Pod | undefined },
): ClusterPods | undefined {
  const { world, records, knowledge } = context;
  const { cluster, clock, random, log } = world;
  if (cluster === undefined) return undefined;
  const { store, recorder, node } = knowledge;
  const released = new Set<PodUid>();
  const source: ApiPodSource = new ApiPodSource({
    client: cluster.objects,
    nodeName: world.machine.nodeName,
    nodeKnown: () => node.watch.whenSynced(),
    remembered: records.apiPods,
    setPods: (pods, report) => parts.podConfig.setSource('api', pods, report),
    onChange: (change) => {
      if (change.kind === 'pod') return uploader.wake(store.runningUid(podUid(change.pod.metadata.uid)));
      uploader.wakeAll(parts.workers().known().keys());
      reconcileMirrors();
    },
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
  const apiPod = (uid: PodUid): Pod | undefined => apiPodOf(source, parts.podOf(uid));
  const isReleased = (uid: PodUid): boolean => released.has(uid);
  const uploader: StatusUploader = new StatusUploader({
    client: cluster.status,
    statuses: records.statuses,
    apiPod,
    isReleased,
    onWritten: timedWrites(context, (pod) => source.noteWritten(pod)),
    clock,
    random,
    log,
  });
  const mirrors = new MirrorPods({
    client: cluster.objects,
    facts: (fullName) => mirrorFacts(context, { source, ...parts }, fullName),
    recorder,
    clock,
    random,
    log,
  });
  const reconcileMirrors = (): void => {
    for (const fullName of new Set([...store.staticPods(), ...store.mirrorPods()].map(podFullName)))
      mirrors.reconcile(fullName);
  };
  records.statuses.onChange(({ uid }) => uploader.wake(uid));
  node.watch.onChange(reconcileMirrors);
  const unfollow = cluster.status.onReturn?.(() => {
    uploader.wakeAll(parts.workers().known().keys());
    reconcileMirrors();
    goOn(context, parts.workers());
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

/** What an outage held up does not wait for its next try. */
function goOn({ knowledge, links }: LoopContext, workers: PodWorkers): void {
  knowledge.eventUploader?.retryNow();
  links.post({
    kind: 'sync',
    uids: [...workers.known().keys()].filter((uid) => workers.retryOf(uid).lastError !== undefined),
  });
}

/** Counts how long statuses took to be told. */
function timedWrites(
  { world: { clock }, records, knowledge: { observation, store } }: LoopContext,
  onWritten: (pod: Pod) => Pod | undefined,
): (pod: Pod) => Pod | undefined {
  const times = new StatusTimes(observation.metrics, () => clock.monotonicMs());
  records.statuses.onChange(({ uid }) => times.changed(uid));
  return (pod) => {
    times.told(store.runningUid(podUid(pod.metadata.uid)));
    return onWritten(pod);
  };
}

/** A static pod is told of by its mirror, when that shows it as it is now (upstream: TranslatePodUID). */
function apiPodOf(source: ApiPodSource, pod: Pod | undefined): Pod | undefined {
  if (pod === undefined || !source.isListed()) return undefined;
  const found = source.get(pod.metadata.namespace, pod.metadata.name);
  if (found === undefined) return undefined;
  const isIt = isStaticPod(pod) ? isMirrorOf(found, pod) : found.metadata.uid === pod.metadata.uid;
  return isIt ? found : undefined;
}

function mirrorFacts(
  { world, knowledge, links }: LoopContext,
  parts: { source: ApiPodSource; workers: () => PodWorkers },
  fullName: string,
): MirrorFacts | undefined {
  const { source, workers } = parts;
  if (!source.isListed()) return undefined;
  const pod = knowledge.store.byFullName(fullName);
  const node = knowledge.node.watch.current();
  const separator = fullName.lastIndexOf('_');
  const isEnding = [...workers().known().values()].some((state) => {
    const ending =
      state.phase !== 'terminating' ? undefined : state.subject.kind === 'pod' ? state.subject.pod : undefined;
    return ending !== undefined && isStaticPod(ending) && podFullName(ending) === fullName;
  });
  return {
    pod: pod !== undefined && isStaticPod(pod) ? pod : undefined,
    found: source.get(fullName.slice(separator + 1), fullName.slice(0, separator)),
    node:
      node === undefined || node.metadata.deletionTimestamp !== undefined || node.metadata.uid === ''
        ? undefined
        : { name: world.machine.nodeName, uid: node.metadata.uid },
    isEnding,
    sourcesReady: links.sourcesReady(),
  };
}
