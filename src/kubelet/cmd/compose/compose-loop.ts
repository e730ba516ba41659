import { createContainerGc } from '../../features/container-gc/create-container-gc.ts';
import { createExplain } from '../../features/explain/create-explain.ts';
import type { ExplainStore } from '../../features/explain/explain-store.ts';
import {
  restartsAfterExit,
  shouldBeStarted,
  shouldRestartAllContainers,
} from '../../features/pod-runtime/plan/restart-policy.ts';
import { isGivenUp } from '../../features/pod-runtime/plan/compute-pod-actions.ts';
import { noteRequestedResizes } from '../../features/metrics/resizes.ts';
import { StatusTimes } from '../../features/metrics/status-times.ts';
import { needsNewSandbox } from '../../features/pod-runtime/plan/sandbox-changed.ts';
import type { NodeShutdown } from '../../features/node-shutdown/create-node-shutdown.ts';
import { createNodeShutdown } from '../../features/node-shutdown/create-node-shutdown.ts';
import { createUserNamespaces } from '../../features/user-namespaces/create-user-namespaces.ts';
import { PodWorkers } from '../../features/pod-workers/pod-workers.ts';
import type { RestartRules } from '../../features/status/interfaces.ts';
import { connectPodReactions, connectRuntimeReaction } from '../../loop/change-reactions.ts';
import type { ClusterPods } from '../../loop/cluster-pods.ts';
import { createClusterPods } from '../../loop/cluster-pods.ts';
import { cleanUpObjects } from '../../loop/clean-up-objects.ts';
import { createDeviceHealth } from '../../loop/device-health.ts';
import { firstEnding } from '../../loop/first-ending.ts';
import { Housekeeping } from '../../loop/housekeeping.ts';
import { PodCleanup } from '../../loop/pod-cleanup.ts';
import { createPodHandlers } from '../../loop/pod-handlers.ts';
import { makePodFolder } from '../../loop/pod-folder.ts';
import { KubeletPodSyncer } from '../../loop/pod-syncer.ts';
import { StatusUpdater } from '../../loop/status-updater.ts';
import { SyncLoop } from '../../loop/sync-loop.ts';
import { isDefinitionChanged } from '../../features/pod-runtime/plan/container-hash.ts';
import type { FeatureParts, Given, KnownParts, LoopParts } from './kubelet-parts.ts';
import { observedSyncer } from '../../features/metrics/observed-syncer.ts';
import { tracedSyncer } from '../../features/tracing/traced-syncer.ts';
import { composeSources } from './compose-sources.ts';

const HOUSEKEEPING_PERIOD_MS = 30_000;

/** The rules of restarts, which the plan, the status and the phase of a pod share. */
const restartRules: RestartRules = {
  shouldBeStarted,
  restartsAfterExit,
  isDefinitionChanged,
  shouldRestartAllContainers,
  needsNewSandbox,
  isGivenUp,
};

export function composeLoop(parts: Given<keyof KnownParts | keyof FeatureParts>): LoopParts {
  const { settings, platform, records, changes, queue, sourcesReady, admission } = parts;
  const { clock, random, log } = platform;
  const clusterPods = composeClusterPods(parts, () => workers);
  const sources = composeSources(parts, clusterPods);
  const status = composeStatus(parts);
  const explain = composeExplain(parts, { workers: () => workers, loop: () => loop });
  const containerGc = createContainerGc({
    runtime: platform.runtime,
    policy: settings.containerGc,
    workers: () => workers,
    sourcesReady,
    logs: parts.logCleanup,
    cache: parts.cache,
    events: parts.recorder,
    tracer: platform.tracer,
    clock,
    random,
    log,
  });
  const userNamespaces = createUserNamespaces({
    config: settings.config,
    rootDir: settings.rootDir,
    files: platform.files,
    processes: platform.processes,
    health: () => parts.monitor.health,
    runtimePods: () => parts.cache.all(),
    random,
    log,
  });
  const cleanup = new PodCleanup({
    runtime: parts.podRuntime,
    images: parts.images,
    statuses: records.statuses,
    admission,
    evicted: records.evicted,
    allocation: parts.allocation,
    managers: parts.managers,
    explain,
    oomKills: parts.oomWatcher.records,
    clusterPods,
    containerGc,
    cache: parts.cache,
    changes,
    queue,
  });
  const syncer = composeSyncer(parts, { status, explain, cleanup, userNamespaces, clusterPods });
  const workers: PodWorkers = new PodWorkers({
    states: parts.states,
    syncer: tracedSyncer(
      observedSyncer(syncer, parts.observation, () => clock.monotonicMs()),
      platform.tracer,
    ),
    clock,
    random,
    log,
    resyncMs: settings.config.sources.syncPeriodMs,
    onDue: (uids) => queue.post({ kind: 'sync', uids }),
  });
  const housekeeping = composeHousekeeping(parts, { workers, cleanup, userNamespaces });
  const loop: SyncLoop = composeSyncLoop(parts, { workers, status, housekeeping, clusterPods });
  connectRuntimeReaction({ ...parts, loop });
  connectPodReactions({ ...parts, status });
  return {
    sources,
    workers,
    status,
    explain,
    loop,
    containerGc,
    userNamespaces,
    clusterPods,
    nodeShutdown: composeNodeShutdown(parts, { workers, clusterPods }),
  };
}

function composeStatus(
  parts: Given<
    | 'admission'
    | 'allocation'
    | 'cache'
    | 'devices'
    | 'directory'
    | 'dra'
    | 'node'
    | 'oomWatcher'
    | 'podRuntime'
    | 'probes'
    | 'shutdownState'
    | 'states'
    | 'volumes'
  >,
): StatusUpdater {
  const { settings, platform, records, directory, states, cache } = parts;
  return new StatusUpdater({
    statuses: records.statuses,
    clock: platform.clock,
    admission: parts.admission,
    evicted: firstEnding(records.evicted, parts.shutdownState),
    rules: restartRules,
    probes: parts.probes,
    failures: parts.podRuntime.startFailures,
    states,
    cache,
    directory,
    allocation: parts.allocation,
    actuated: records.actuated,
    oomKills: parts.oomWatcher.records,
    volumes: parts.volumes,
    deviceHealth: createDeviceHealth({ ...parts, gates: settings.config.gates }),
    runtimeName: platform.runtimeName,
    stopSignals: settings.config.gates.enabled('ContainerStopSignals'),
    hidesReadyToStart: !settings.config.gates.enabled('PodReadyToStartContainersCondition'),
    // Read for each status, because addresses may change.
    get hostIps() {
      return parts.node.hostIps();
    },
  });
}

function composeNodeShutdown(
  parts: Given<'admission' | 'directory' | 'node' | 'recorder' | 'shutdownState' | 'states'>,
  { workers, clusterPods }: Pick<LoopParts, 'workers' | 'clusterPods'>,
): NodeShutdown {
  const { settings, platform, admission, directory, states, shutdownState } = parts;
  const { cluster, files, loginManager, clock, log } = platform;
  return createNodeShutdown({
    config: settings.config,
    standalone: cluster === undefined,
    state: shutdownState,
    rootDir: settings.rootDir,
    files,
    loginManager,
    pods: {
      active: () => admission.activePods(),
      byUid: (uid) => directory.byUid(uid),
      onAdmitted: (listener) => admission.onAdmitted(listener),
    },
    workers: {
      kill: (uid, kill) => workers.kill(uid, kill),
      restart: (pod) => workers.update(pod, true),
      hasFinished: (uid) => states.hasFinished(uid),
      onAdvance: (listener) => states.onChange(listener),
    },
    whenStatusesSent: async () => clusterPods?.uploader.whenIdle(),
    recorder: parts.recorder,
    statusChanged: () => parts.node.statusChanges.notify(),
    clock,
    log,
  });
}

function composeExplain(
  parts: Given<'activityTracker' | 'clusterObjects' | 'csi' | 'directory' | 'localObjects' | 'probes' | 'volumes'>,
  late: Pick<Parameters<typeof createExplain>[0], 'workers' | 'loop'>,
): ExplainStore {
  const { settings, records, platform, clusterObjects, localObjects, directory, probes, volumes } = parts;
  return createExplain({
    ...late,
    staticPodPath: settings.config.sources.staticPodPath,
    rootDir: settings.rootDir,
    cluster: platform.cluster,
    clusterObjects,
    localObjects,
    drivers: parts.csi.drivers,
    directory,
    statuses: records.statuses,
    probes,
    volumes,
    activityTracker: parts.activityTracker,
    timeline: records.timeline,
    clock: platform.clock,
  });
}

function composeSyncer(
  parts: Given<
    | 'admission'
    | 'allocation'
    | 'cache'
    | 'cgroups'
    | 'dra'
    | 'managers'
    | 'monitor'
    | 'pleg'
    | 'podObjects'
    | 'podRuntime'
    | 'probes'
    | 'recorder'
    | 'volumes'
  >,
  loop: Pick<LoopParts, 'status' | 'explain' | 'userNamespaces' | 'clusterPods'> & { cleanup: PodCleanup },
): KubeletPodSyncer {
  const { settings, platform, admission } = parts;
  const { status, explain, cleanup, userNamespaces, clusterPods } = loop;
  return new KubeletPodSyncer({
    runtime: parts.podRuntime,
    cache: parts.cache,
    pleg: parts.pleg,
    objects: parts.podObjects,
    volumes: parts.volumes,
    cgroups: parts.cgroups,
    managers: parts.managers,
    dra: parts.dra.manager,
    userNamespaces,
    makePodFolder: (uid) => makePodFolder(platform.files, settings.rootDir, uid),
    probes: parts.probes,
    admission,
    status,
    explain,
    allocation: parts.allocation,
    monitor: parts.monitor,
    cleanup,
    clusterPods,
    recorder: parts.recorder,
    clock: platform.clock,
    log: platform.log,
  });
}

function composeClusterPods(
  parts: Given<'directory' | 'eventUploader' | 'node' | 'podConfig' | 'recorder' | 'sourcesReady' | 'states' | 'store'>,
  workers: () => Pick<PodWorkers, 'failing'>,
): ClusterPods | undefined {
  const { platform, records, queue } = parts;
  const { cluster, clock, random, log } = platform;
  if (cluster === undefined) return undefined;
  const { store, directory, states, observation, node, podConfig, sourcesReady, eventUploader, recorder } = parts;
  return createClusterPods({
    cluster,
    nodeName: platform.machine.nodeName,
    nodeWatch: node.watch,
    store,
    directory,
    states,
    statuses: records.statuses,
    statusTimes: new StatusTimes(observation.metrics, () => clock.monotonicMs()),
    remembered: records.apiPods,
    podConfig,
    sourcesReady,
    failedPods: () => workers().failing(),
    eventUploader,
    recorder,
    queue,
    clock,
    random,
    log,
  });
}

function composeHousekeeping(
  parts: Given<
    | 'allocation'
    | 'cache'
    | 'cgroups'
    | 'clusterObjects'
    | 'devices'
    | 'dra'
    | 'managers'
    | 'podConfig'
    | 'podCredentials'
    | 'probes'
    | 'store'
    | 'tokens'
    | 'volumes'
  >,
  { workers, cleanup, userNamespaces }: Pick<LoopParts, 'workers' | 'userNamespaces'> & { cleanup: PodCleanup },
): Housekeeping {
  const { platform, records } = parts;
  return new Housekeeping({
    workers,
    podConfig: parts.podConfig,
    cache: parts.cache,
    cleanup,
    cleaners: {
      probes: (known) => parts.probes.cleanUpPods(known),
      volumes: (known) => parts.volumes.cleanupOrphans(known),
      cgroups: (known) => parts.cgroups.cleanupOrphans(known),
      userNamespaces: (known) => userNamespaces.cleanupOrphans(known),
      devices: () => parts.devices.manager.releaseInactive(),
      claims: (known) => parts.dra.releaseInactive(known),
      statuses: (known) => records.statuses.forgetRestored(known),
      admitted: (known) => records.admitted.forgetUnknown(known),
      evicted: (known) => records.evicted.forgetUnknown(known),
      resources: (known) => parts.allocation.retain(known),
      managers: () => parts.managers.release(),
      timelines: (known) => records.timeline.retireUnknown(known),
      objects: (known) => cleanUpObjects(known, parts),
    },
    log: platform.log,
  });
}

function composeSyncLoop(
  parts: Given<'admission' | 'allocation' | 'cache' | 'cgroups' | 'monitor' | 'node' | 'probes' | 'recorder' | 'store'>,
  driven: Pick<LoopParts, 'workers' | 'status' | 'clusterPods'> & { housekeeping: Housekeeping },
): SyncLoop {
  const { platform, queue, store, cache, admission } = parts;
  const { workers, status, housekeeping, clusterPods } = driven;
  const { clock, random, log } = platform;
  const handlers = createPodHandlers({
    store,
    workers,
    status,
    probes: parts.probes,
    cache,
    admission,
    node: () => parts.node.object(parts.monitor.health),
    cgroups: parts.cgroups,
    allocation: parts.allocation,
    mirrors: clusterPods,
    recorder: parts.recorder,
    onUpdate: (before, after) => noteRequestedResizes(parts.observation.metrics, before, after),
    housekeeping,
    queue,
    log,
  });
  return new SyncLoop({
    queue,
    handlers,
    clock,
    random,
    log,
    runtimeErrors: () => parts.monitor.runtimeErrors(),
    housekeepingMs: HOUSEKEEPING_PERIOD_MS,
  });
}
