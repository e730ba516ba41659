import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { AdmissionDesk } from '../../features/admission/admission-desk.ts';
import { missingForUpdate } from '../../features/admission/predicates.ts';
import type { ContainerGc } from '../../features/container-gc/container-gc.ts';
import { computeCures } from '../../features/explain/compute-cures.ts';
import { ExplainStore } from '../../features/explain/explain-store.ts';
import { PodConfig } from '../../features/pod-config/pod-config.ts';
import { RuntimeClassAdmission } from '../../features/pod-config/runtime-class-admission.ts';
import {
  restartsAfterExit,
  shouldBeStarted,
  shouldRestartAllContainers,
} from '../../features/pod-runtime/plan/restart-policy.ts';
import { isGivenUp } from '../../features/pod-runtime/plan/compute-pod-actions.ts';
import { noteRequestedResizes } from '../../features/metrics/resizes.ts';
import { needsNewSandbox } from '../../features/pod-runtime/plan/sandbox-changed.ts';
import type { PodStore } from '../../features/pod-store/pod-store.ts';
import type { UserNamespaces } from '../../features/user-namespaces/user-namespaces.ts';
import { PodWorkers } from '../../features/pod-workers/pod-workers.ts';
import type { RestartRules } from '../../features/status/interfaces.ts';
import { Housekeeping } from '../../loop/housekeeping.ts';
import { createPodHandlers } from '../../loop/pod-handlers.ts';
import { KubeletPodSyncer } from '../../loop/pod-syncer.ts';
import { StatusUpdater } from '../../loop/status-updater.ts';
import { SyncLoop } from '../../loop/sync-loop.ts';
import { podUid, type PodUid } from '../../model/ids.ts';
import type { Links, LoopContext } from './compose-context.ts';
import { composeAdmission } from './compose-admission.ts';
import { cureObjects, outageFor } from './compose-explain.ts';
import { observedSyncer } from './compose-metrics.ts';
import { composeSources, sourceNames, type Sources } from './compose-sources.ts';
import { composeClusterPods, type ClusterPods } from './compose-cluster-pods.ts';
import { composeContainerGc } from './compose-logs.ts';
import { composeUserNamespaces } from './compose-user-namespaces.ts';

/** What drives the features, and what is known of each pod as a whole. */
export interface LoopParts {
  podConfig: PodConfig;
  sources: Sources;
  workers: PodWorkers;
  admission: AdmissionDesk;
  status: StatusUpdater;
  explain: ExplainStore;
  loop: SyncLoop;
  containerGc: ContainerGc;
  userNamespaces: UserNamespaces;
  /** undefined on a node of its own. */
  clusterPods: ClusterPods | undefined;
  /** Calls `listener` with each pod of which nothing is left; returns the function that ends it. */
  onPodGone(listener: (pod: Pod) => void): () => void;
}

const HOUSEKEEPING_PERIOD_MS = 30_000;

/** Plan, status and phase judge restarts by the same functions. */
const restartRules: RestartRules = {
  shouldBeStarted,
  restartsAfterExit,
  shouldRestartAllContainers,
  needsNewSandbox,
  isGivenUp,
};

export function composeLoop(context: LoopContext): LoopParts {
  const { settings, world, knowledge, actors, links } = context;
  const { clock, random, log } = world;
  const podConfig = new PodConfig({
    sources: sourceNames(settings, world),
    clock,
    recorder: knowledge.recorder,
    log,
    onUpdate: (update) => links.post({ kind: 'configuration', update }),
    onSourcesReady: () => {
      links.post({ kind: 'housekeeping' });
      clusterPods?.reconcileMirrors();
    },
  });
  const runtimeClasses = new RuntimeClassAdmission({
    lookup: (name) => knowledge.localObjects.get('RuntimeClass', '', name),
    setSource: (source, pods, report) => podConfig.setSource(source, pods, report),
    log,
  });
  knowledge.localObjects.onChange(({ kind, name }) => {
    if (kind === 'RuntimeClass') runtimeClasses.classChanged(name);
  });
  const clusterPods = composeClusterPods(context, {
    podConfig,
    workers: () => workers,
    podOf: (uid) => knowledge.store.byUid(uid) ?? podOf(workers, uid),
  });
  const sources = composeSources(settings, world, {
    setPods: (source, pods, report) => runtimeClasses.setPods(source, pods, report),
    objects: knowledge.localObjects,
    api: clusterPods?.source,
  });
  const admission = composeAdmission(
    {
      ...context,
      grants: { granted: (pod) => actors.allocation.apply(pod), onAdmitted: (pod) => actors.allocation.podAdded(pod) },
    },
    () => workers,
  );
  const status = composeStatus(context, { workers: () => workers, admission });
  const explain = composeExplain(context, { workers: () => workers, loop: () => loop });
  const gone = new Set<(pod: Pod) => void>();
  const tellGone = (pod: Pod): void => gone.forEach((listener) => listener(pod));
  const containerGc = composeContainerGc(context, {
    workers: () => workers,
    sourcesReady: () => podConfig.sourcesReady() && !loop.configurationWaits(),
  });
  const userNamespaces = composeUserNamespaces(context);
  const syncer = composeSyncer(context, {
    admission,
    status,
    explain,
    containerGc,
    userNamespaces,
    clusterPods,
    tellGone,
  });
  const workers: PodWorkers = new PodWorkers({
    syncer: observedSyncer(syncer, knowledge.observation, () => clock.monotonicMs()),
    clock,
    random,
    log,
    resyncMs: settings.config.sources.syncPeriodMs,
    onDue: (uids) => links.post({ kind: 'sync', uids }),
  });
  const housekeeping = composeHousekeeping(context, { workers, podConfig, containerGc, userNamespaces });
  const loop: SyncLoop = composeSyncLoop(context, { workers, admission, status, housekeeping, clusterPods });
  Object.assign(links, {
    post: (input) => loop.post(input),
    refreshStatus: (uid) => void status.refresh(uid),
    runtimeClassRefusal: (uid) => runtimeClasses.refusal(uid),
    sourcesReady: () => podConfig.sourcesReady() && !loop.configurationWaits(),
    isOver: (uid) => isOver(context, workers, uid),
    activePods: () => admission.activePods(),
    misfit: (pod) => admission.misfit(pod),
    // Pods that waited for the runtime or the network need not wait for their next turn.
    runtimeChanged: () => {
      if (actors.monitor.networkError() === undefined) loop.post({ kind: 'sync', uids: [...workers.known().keys()] });
      else loop.wake();
    },
  } satisfies Links);
  const onPodGone = (listener: (pod: Pod) => void): (() => void) => {
    gone.add(listener);
    return () => void gone.delete(listener);
  };
  return {
    podConfig,
    sources,
    workers,
    admission,
    status,
    explain,
    loop,
    containerGc,
    userNamespaces,
    clusterPods,
    onPodGone,
  };
}

function composeStatus(
  { settings, world, records, knowledge, actors }: LoopContext,
  { workers, admission }: { workers: () => PodWorkers; admission: AdmissionDesk },
): StatusUpdater {
  const { store, cache } = knowledge;
  return new StatusUpdater({
    statuses: records.statuses,
    clock: world.clock,
    verdict: (uid) => admission.verdictOn(uid),
    rules: restartRules,
    probes: actors.probes,
    failures: actors.podRuntime.startFailures,
    worker: (uid) => workers().stateOf(uid),
    runtimeStatus: (pod) => cache.getOrEmpty(pod),
    isRead: (uid) => cache.isRead(uid),
    pod: (uid) => {
      const pod = store.byUid(uid) ?? podOf(workers(), uid);
      return pod === undefined ? undefined : actors.allocation.apply(pod);
    },
    resize: (uid) => ({
      conditions: actors.allocation.conditions(uid),
      actuated: {
        container: (name) => records.actuated.container(uid, name),
        podLevel: records.actuated.podLevel(uid),
      },
    }),
    runtimeName: () => world.runtimeName,
    stopSignals: settings.config.gates.enabled('ContainerStopSignals'),
    // Read anew for each status: addresses may change.
    get hostIps() {
      return knowledge.node.hostIps();
    },
  });
}

/** A pass over a healthy pod takes milliseconds: one that takes longer is waiting for something. */
const LONG_PASS_MS = 1000;

function composeExplain(
  { settings, records, knowledge, world, actors }: LoopContext,
  { workers, loop }: { workers: () => PodWorkers; loop: () => SyncLoop },
): ExplainStore {
  const { clock } = world;
  const cureFacts = {
    ...cureObjects(knowledge),
    manifests: settings.config.sources.staticPodPath,
    registry: `${settings.rootDir}/plugins_registry`,
    isDriverThere: (name: string) => actors.csi.drivers.nodeDrivers().some((driver) => driver.name === name),
  };
  return new ExplainStore({
    board: knowledge.board,
    timeline: records.timeline,
    sources: {
      pods: () => visiblePods({ store: knowledge.store, workers: workers(), loop: loop() }),
      status: (uid) => records.statuses.get(uid),
      probes: (uid) => actors.probes.standing(uid),
      volumes: (uid) => actors.volumes.blockers(uid),
      cures: (pod) => computeCures(pod, cureFacts),
      outage: (pod) => outageFor(pod, knowledge, world, actors.volumes.blockers(podUid(pod.metadata.uid)).length > 0),
      worker: (uid) => {
        const { lastError, inMs } = workers().retryOf(uid);
        const nextTryAtMs = inMs === undefined ? undefined : clock.nowMs() + inMs;
        const busyForMs = workers().busyForMs(uid) ?? 0;
        const busySinceMs = busyForMs < LONG_PASS_MS ? undefined : clock.nowMs() - busyForMs;
        return {
          heldBack: loop().heldBack(),
          worker: workers().stateOf(uid)?.phase ?? 'none',
          workerSinceMs: workers().sinceMs(uid) ?? clock.nowMs(),
          retry: { lastError, nextTryAtMs },
          busySinceMs,
        };
      },
    },
  });
}

function composeSyncer(
  context: LoopContext,
  loop: Pick<LoopParts, 'admission' | 'status' | 'explain' | 'containerGc' | 'userNamespaces' | 'clusterPods'> & {
    tellGone: (pod: Pod) => void;
  },
): KubeletPodSyncer {
  const { settings, world, records, knowledge, actors, links } = context;
  const { admission, status, explain, containerGc, userNamespaces, clusterPods, tellGone } = loop;
  return new KubeletPodSyncer({
    runtime: actors.podRuntime,
    cache: knowledge.cache,
    readRuntime: (uid) => actors.pleg.refresh(uid),
    objects: knowledge.podObjects,
    volumes: actors.volumes,
    cgroups: actors.cgroups,
    userNamespaces: {
      ensure: async (pod) =>
        userNamespaces.ensure(pod, pod.spec.hostUsers === false ? await actors.podRuntime.runtimeHandlerOf(pod) : ''),
      release: (uid) => userNamespaces.release(uid),
    },
    makePodFolder: (uid) => world.files.makeDirectory(`${settings.rootDir}/pods/${uid}`, 0o750),
    probes: actors.probes,
    admission,
    status,
    explain,
    allocation: actors.allocation,
    networkError: () => actors.monitor.networkError(),
    collect: (uid) => collectPod(context, containerGc, uid),
    onReleased: (uid, isReleased) => {
      clusterPods?.released(uid, isReleased);
      // It has ended: its copy may make room for the next one of its name.
      if (isReleased) clusterPods?.reconcileMirrors();
    },
    forget: (uid, { pod, revived }) => {
      actors.podRuntime.forgetPod(uid);
      actors.images.forgetPod(uid);
      if (revived) records.statuses.beginAnew(uid);
      else records.statuses.forget(uid);
      admission.forget(uid);
      actors.allocation.forget(uid);
      explain.forget(uid);
      clusterPods?.forget(uid);
      if (pod !== undefined) clusterPods?.podChanged(pod);
      if (pod !== undefined) tellGone(pod);
      // Of a pod that only the runtime knew the volumes are still there: they go now, not with the next look around.
      else links.post({ kind: 'housekeeping' });
    },
    recorder: knowledge.recorder,
    clock: world.clock,
    log: world.log,
  });
}

/** What a stopped pod left in the runtime goes, and with it what is remembered of its containers. */
async function collectPod({ knowledge, actors }: LoopContext, containerGc: ContainerGc, uid: PodUid): Promise<void> {
  const status = knowledge.cache.get(uid);
  await containerGc.collectPod(uid);
  actors.podRuntime.forgetPod(uid, status);
}

function composeHousekeeping(
  context: LoopContext,
  {
    workers,
    podConfig,
    containerGc,
    userNamespaces,
  }: Pick<LoopParts, 'workers' | 'podConfig' | 'containerGc' | 'userNamespaces'>,
): Housekeeping {
  const { world, records, knowledge, actors } = context;
  return new Housekeeping({
    workers,
    runtimePods: () => knowledge.cache.all(),
    sourcesReady: () => podConfig.sourcesReady(),
    collect: (uid) => collectPod(context, containerGc, uid),
    cleaners: {
      probes: (known) => actors.probes.cleanUpPods(known),
      volumes: (known) => actors.volumes.cleanupOrphans(known),
      cgroups: (known) => actors.cgroups.cleanupOrphans(known),
      userNamespaces: (known) => userNamespaces.cleanupOrphans(known),
      statuses: (known) => records.statuses.forgetRestored(known),
      admitted: (known) => records.admitted.forgetUnknown(known),
      resources: (known) => actors.allocation.retain(known),
      timelines: (known) => records.timeline.retireUnknown(known),
      objects: (known) => {
        knowledge.clusterObjects?.retain(knowledge.store.pods());
        knowledge.tokens.retain({
          has: (uid) => known.has(podUid(uid)) || knowledge.store.byUid(podUid(uid)) !== undefined,
        });
      },
    },
    log: world.log,
  });
}

function composeSyncLoop(
  { world, knowledge, actors, links }: LoopContext,
  parts: {
    workers: PodWorkers;
    admission: AdmissionDesk;
    status: StatusUpdater;
    housekeeping: Housekeeping;
    clusterPods: ClusterPods | undefined;
  },
): SyncLoop {
  const { clock, random, log } = world;
  const { store, cache } = knowledge;
  const { workers, admission, status, housekeeping, clusterPods } = parts;
  const node = (): Node => knowledge.node.object(actors.monitor.health);
  const handlers = createPodHandlers({
    store,
    workers,
    status,
    probes: actors.probes,
    runtimePods: () => cache.all(),
    unreadPods: () => cache.unread(),
    admission: {
      adopt: (pods) => admission.adopt(pods),
      consider: (pod) => admission.consider(pod),
      missingFeatures: (before, after) => missingForUpdate(before, after, node()),
    },
    allocation: actors.allocation,
    mirrors: { podChanged: (pod) => clusterPods?.podChanged(pod) },
    recorder: knowledge.recorder,
    onUpdate: (before, after) => noteRequestedResizes(knowledge.observation.metrics, before, after),
    onPodsChanged: () => {
      actors.cgroups.podsChanged();
      actors.allocation.retry();
    },
    cleanup: () => {
      housekeeping.request();
      // The sources may have spoken just now.
      actors.allocation.retry();
    },
    requestCleanup: () => links.post({ kind: 'housekeeping' }),
    log,
  });
  return new SyncLoop({
    handlers,
    clock,
    random,
    log,
    runtimeErrors: () => actors.monitor.runtimeErrors(),
    housekeepingMs: HOUSEKEEPING_PERIOD_MS,
  });
}

/** Said to be over, or on its way there: its resources are its own no more, and nothing of it changes. */
function isOver({ records }: LoopContext, workers: PodWorkers, uid: PodUid): boolean {
  const worker = workers.stateOf(uid)?.phase;
  const phase = records.statuses.get(uid)?.phase;
  return (
    worker === 'terminating' ||
    worker === 'terminated' ||
    worker === 'finished' ||
    phase === 'Failed' ||
    phase === 'Succeeded'
  );
}

/** The pod a worker still deals with though no source lists it any more. */
function podOf(workers: PodWorkers, uid: PodUid): Pod | undefined {
  const state = workers.stateOf(uid);
  if (state === undefined) return undefined;
  if (state.phase === 'terminating') return state.subject.kind === 'pod' ? state.subject.pod : undefined;
  return state.pod;
}

/** Pods that are wanted, those that wait for the runtime to be taken up among them, and those that are still being stopped. */
export function visiblePods({ store, workers, loop }: { store: PodStore; workers: PodWorkers; loop: SyncLoop }): Pod[] {
  const pods = new Map([...loop.waitingPods(), ...store.pods()].map((pod) => [podUid(pod.metadata.uid), pod]));
  for (const uid of workers.known().keys()) {
    const pod = pods.has(uid) ? undefined : podOf(workers, uid);
    if (pod !== undefined) pods.set(uid, pod);
  }
  return [...pods.values()];
}
