import type { AdmissionManager } from '../../features/admission/admission-manager.ts';
import { AllocatedPods } from '../../features/allocation/allocated-pods.ts';
import type { ContainerManager } from '../../features/container-manager/container-manager.ts';
import { createNodeSetup } from '../../features/container-manager/create-node-setup.ts';
import { podCgroupPaths } from '../../features/container-manager/pod-cgroup-paths.ts';
import { NodeProblems } from '../../features/node-problems/node-problems.ts';
import { createOomWatcher } from '../../features/oom-watcher/create-oom-watcher.ts';
import type { OomWatcher } from '../../features/oom-watcher/oom-watcher.ts';
import { kernelPaths } from '../../adapters/cgroups/linux-cgroup-names.ts';
import { createContainerManager } from '../../features/container-manager/create-container-manager.ts';
import { readTerminationMessage } from '../../features/container-logs/termination-message.ts';
import { ActivityTracker } from '../../features/explain/activity-tracker.ts';
import { computeExitEntry } from '../../features/explain/exit-entry.ts';
import { rejectionUnderPressure } from '../../features/eviction/admit-under-pressure.ts';
import { createEvents } from '../../features/events/create-events.ts';
import { createLifecycleHooks } from '../../features/lifecycle-hooks/create-lifecycle-hooks.ts';
import { ShutdownState } from '../../features/node-shutdown/shutdown-state.ts';
import { createPleg } from '../../features/pleg/create-pleg.ts';
import type { Pleg } from '../../features/pleg/pleg.ts';
import { RuntimeCache } from '../../features/pleg/runtime-cache.ts';
import { createPodRuntime } from '../../features/pod-runtime/create-pod-runtime.ts';
import type { PodRuntime } from '../../features/pod-runtime/pod-runtime.ts';
import { createRuntimeHandlers } from '../../features/pod-runtime/runtime-handlers.ts';
import { WorkerStates } from '../../features/pod-workers/worker-states.ts';
import { createPodCredentials } from '../../features/pod-credentials/create-pod-credentials.ts';
import { createProbes } from '../../features/probes/create-probes.ts';
import type { ProbeManager } from '../../features/probes/probe-manager.ts';
import { createVolumeManager } from '../../features/volumes/create-volume-manager.ts';
import type { VolumeAttachWaiter } from '../../features/volumes/volume-attach-waiter.ts';
import type { VolumeManager } from '../../features/volumes/volume-manager.ts';
import { PodDirectory } from '../../loop/pod-directory.ts';
import { RuntimeMonitor } from '../../loop/runtime-monitor.ts';
import type { PodUid } from '../../model/ids.ts';
import { composeVolumeAttachWaiter, composeCsi } from './compose-csi.ts';
import { composeDevices, composeDra, composePodResources } from './compose-devices.ts';
import { KUBERNETES_VERSION } from '../flags/flags-version.ts';
import { createAdmission } from '../../features/admission/create-admission.ts';
import type { NodeSettings } from '../../features/node/create-node.ts';
import { createNode } from '../../features/node/create-node.ts';
import type { CsiParts, FeatureParts, Given, KnownParts } from './kubelet-parts.ts';
import { noteProtectedMemory } from '../../features/metrics/protected-memory.ts';
import { noteVolumeOperation } from '../../features/metrics/storage.ts';
import { observeHooks, observeProbe, observeRelists } from '../../features/metrics/observation.ts';
import { composeClusterObjects, composePodConfig } from './compose-sources.ts';
import { composeImages } from './compose-images.ts';
import { withClaimedDevices } from '../../features/dra/create-dra.ts';
import { composeManagers } from './compose-managers.ts';
import type { ManagerParts } from './compose-managers.ts';
import type { AllocationManager } from '../../features/allocation/allocation-manager.ts';
import { createAllocation } from '../../features/allocation/create-allocation.ts';
import { observedResizes } from '../../features/metrics/resizes.ts';
import { createContainerLogs } from '../../features/container-logs/create-container-logs.ts';
import { AttachHistory } from '../../features/server/attach-history.ts';

/** The settings if no flag describes the node. */
const noNodeSettings: NodeSettings = {
  labels: {},
  externalCloudProvider: false,
  ignoreEviction: false,
  nodeIps: [],
  version: KUBERNETES_VERSION,
};

/**
 * Creates the parts that know the state of the node. Throws `Invalid` if the node cannot have the requested
 * configuration.
 */
export function composeKnown(parts: Given): KnownParts {
  const { settings, platform, records, queue, store } = parts;
  const { cluster, clock, random, log, machine } = platform;
  const { nodeName } = machine;
  const states = new WorkerStates();
  const cache = new RuntimeCache(clock);
  const objects = composeClusterObjects(settings, platform, records);
  const events = createEvents({ client: cluster?.events, timeline: records.timeline, nodeName, clock, random, log });
  return {
    states,
    directory: new PodDirectory({ store, states, statuses: records.statuses, cache, queue }),
    ...objects,
    podCredentials: createPodCredentials({
      client: cluster?.objects,
      gates: settings.config.gates,
      nodeName,
      recorder: events.recorder,
      clock,
      random,
      log,
    }),
    cache,
    activityTracker: new ActivityTracker(clock),
    shutdownState: new ShutdownState(),
    ...events,
    ...composePodConfig(parts, { ...objects, ...events }),
    allocatedPods: new AllocatedPods(records.allocated),
    node: createNode(settings.config, platform, settings.node ?? noNodeSettings),
  };
}

export function composeFeatures(parts: Given<keyof KnownParts>, evict: (uid: PodUid) => void): FeatureParts {
  const pleg = composePleg(parts);
  const { runtime, clock, random, log } = parts.platform;
  const monitor = new RuntimeMonitor({ runtime, clock, random, log, moreErrors: () => pleg.errors() });
  const probes = composeProbes(parts);
  const images = composeImages(parts);
  const logs = composeLogs(parts);
  const devices = composeDevices(parts, () => admission);
  const dra = composeDra(parts);
  const csi = composeCsi(parts, { devices, dra });
  const attachWaiter = composeVolumeAttachWaiter(parts);
  const managers: ManagerParts = composeManagers(parts, devices.manager.hints, () => admission);
  const admission: AdmissionManager = composeAdmission(parts, { monitor, devices, ...managers }, evict);
  const allocation = composeAllocation(parts, admission);
  const cgroups = composeCgroups(parts, { admission, ...managers });
  return {
    ...images,
    ...logs,
    pleg,
    monitor,
    probes,
    volumes: composeVolumes(parts, csi, attachWaiter),
    attachWaiter,
    csi,
    devices,
    dra,
    podResources: composePodResources(parts, { devices, dra, ...managers }),
    cgroups,
    oomWatcher: composeOomWatcher(parts),
    nodeProblems: composeNodeProblems(parts),
    nodeSetup: createNodeSetup({
      ...parts.platform,
      config: parts.settings.config,
      settings: parts.platform.nodeSettings,
      recorder: parts.recorder,
    }),
    admission,
    allocation,
    ...managers,
    podRuntime: composeRuntime(parts, { monitor, probes, cgroups, devices, dra, ...images, ...logs }),
  };
}

function composePleg(parts: Given<'cache'>): Pleg {
  const { settings, platform, queue, records, cache, observation } = parts;
  const { clock, random, log, runtime, logFiles, eventSources: sources } = platform;
  const messages = { logFiles, rootDir: settings.rootDir, podLogsDir: settings.config.containerLogs.podLogsDir };
  return createPleg({
    runtime,
    sources,
    cache,
    terminationMessage: (ended) => readTerminationMessage(messages, ended),
    onObserved: (event) => queue.post({ kind: 'pleg', event }),
    onExit: (uid, container) => records.timeline.record(uid, computeExitEntry(container)),
    ...observeRelists(observation, () => clock.monotonicMs()),
    clock,
    random,
    log,
  });
}

function composeAdmission(
  parts: Given<'allocatedPods' | 'cache' | 'directory' | 'node' | 'recorder' | 'shutdownState' | 'store'>,
  { monitor, devices, managers }: Pick<FeatureParts, 'monitor' | 'devices' | 'managers'>,
  evict: (uid: PodUid) => void,
): AdmissionManager {
  const { settings, platform, records, changes, queue, store, directory, allocatedPods, cache, recorder, node } = parts;
  const admission = createAdmission({
    settings: settings.admission ?? {},
    config: settings.config,
    machine: platform.machine,
    standalone: platform.cluster === undefined,
    underPressure: (pod, taintComparisons) =>
      rejectionUnderPressure(pod, parts.records.pressure.conditions, taintComparisons),
    nodeShutdown: () => parts.shutdownState.rejection(),
    onPreempted: (resource) =>
      parts.observation.metrics.main.count('kubelet_preemptions', { preemption_signal: resource }),
    node: () => devices.manager.withoutDevices(node.object(monitor.health)),
    allocatingSteps: (pod) => devices.manager.steps(pod),
    directory,
    store,
    cache,
    allocate: (pod) => managers.check(pod),
    allocatedPods,
    admitted: records.admitted,
    saveAdmitted: () => records.saveAdmitted(),
    forgetStatus: (uid) => records.statuses.forget(uid),
    evict,
    onChange: (uid) => {
      changes.notify(uid);
      queue.post({ kind: 'sync', uids: [uid] });
    },
    files: platform.guardedFiles,
    processes: platform.processes,
    recorder,
    clock: platform.clock,
    log: platform.log,
  });
  admission.onAdmitted((pod) => managers.podAdmitted(allocatedPods.apply(pod)));
  return admission;
}

function composeProbes(parts: Given<'node' | 'recorder'>): ProbeManager {
  const { platform, records, queue, recorder, node } = parts;
  const { clock, random, log, runtime, dial, nodeLoad } = platform;
  return createProbes({
    saved: records.probes,
    keep: (snapshot) => records.keepProbes(snapshot),
    runtime,
    dial,
    nodeLoad,
    recorder,
    hostIp: node.hostIp,
    onUpdate: (update) => queue.post({ kind: 'probe', ...update }),
    onProbe: observeProbe(parts.observation),
    clock,
    random,
    log,
  });
}

function composeVolumes(
  parts: Given<'node' | 'objects' | 'podCredentials' | 'recorder' | 'tokens'>,
  csi: CsiParts,
  attachWaiter: VolumeAttachWaiter | undefined,
): VolumeManager {
  const { settings, platform, objects, tokens, recorder } = parts;
  const { clock, random, log, files, guardedFiles, mounts, processes } = platform;
  const { rootDir } = settings;
  return createVolumeManager({
    attachWaiter,
    onInUseChanged: () => parts.node.statusChanges.notify(),
    rootDir,
    files,
    guardedFiles,
    mounts,
    processes,
    objects,
    clock,
    random,
    log,
    recorder,
    tokens,
    credentials: parts.podCredentials,
    onOperation: (operation) => noteVolumeOperation(parts.observation.metrics, operation),
    standalone: platform.cluster === undefined,
    driverDir: settings.config.volumes.driverDir,
    morePlugins: [csi.volumes],
    node: () => parts.node.object(undefined).metadata,
    nodeAllocatable: () => parts.node.allocatable,
  });
}

function composeCgroups(
  parts: Given<'node' | 'recorder'>,
  { admission, managers }: Pick<FeatureParts, 'admission' | 'managers'>,
): ContainerManager {
  const { settings, platform } = parts;
  return createContainerManager({
    config: settings.config,
    cgroups: platform.cgroups,
    machine: platform.machine,
    podsCgroupLimits: parts.node.podsCgroupLimits,
    memoryForPodsBytes: parts.node.memoryForPodsBytes,
    onProtected: (bytes) => noteProtectedMemory(parts.observation.metrics, bytes),
    hasExclusiveCpus: (pod) => managers.hasExclusiveCpus(pod),
    activePods: () => admission.activePods(),
    recorder: parts.recorder,
    clock: platform.clock,
    random: platform.random,
    log: platform.log,
  });
}

function composeNodeProblems({
  settings,
  platform,
  node,
  recorder,
}: Given<'node' | 'recorder'>): NodeProblems | undefined {
  const { kernelLog, clock, log } = platform;
  if (settings.nodeProblems !== true || kernelLog === undefined) return undefined;
  return new NodeProblems({ kernelLog, recorder, onChange: () => node.statusChanges.notify(), clock, log });
}

function composeOomWatcher(parts: Given<'cache' | 'directory' | 'recorder'>): OomWatcher {
  const { settings, platform, changes, directory, cache, recorder } = parts;
  return createOomWatcher({
    kernelLog: platform.kernelLog,
    directory,
    cache,
    podPaths: podCgroupPaths(settings.config.cgroups, kernelPaths(platform.cgroups.driver)),
    recorder,
    onKill: (uid) => changes.notify(uid),
    clock: platform.clock,
    log: platform.log,
  });
}

type RuntimeNeeds = Pick<FeatureParts, 'monitor' | 'probes' | 'cgroups' | 'devices' | 'dra' | 'images' | 'noteStarted'>;

function composeRuntime(
  parts: Given<'cache' | 'node' | 'objects' | 'recorder' | 'runtimeClasses'>,
  needs: RuntimeNeeds,
): PodRuntime {
  const { settings, platform, records, changes, cache, objects, recorder, node } = parts;
  const { clock, log, runtime, dial } = platform;
  const { monitor, probes, cgroups, devices, dra, images } = needs;
  const { main } = parts.observation.metrics;
  return createPodRuntime({
    config: settings.config,
    rootDir: settings.rootDir,
    machine: platform.machine,
    runtime,
    files: platform.files,
    mounts: platform.mounts,
    clock,
    random: platform.random,
    log,
    cgroups: platform.cgroups,
    images,
    hooks: createLifecycleHooks({
      runtime,
      dial,
      recorder,
      node,
      onSpecialCase: observeHooks(parts.observation),
      clock,
      log,
    }),
    probes,
    cache,
    objects: {
      configMap: (namespace, name) => objects.get('ConfigMap', namespace, name),
      secret: (namespace, name) => objects.get('Secret', namespace, name),
    },
    services: { services: () => objects.list('Service', '') },
    devices: withClaimedDevices(devices.manager, dra.manager),
    handlers: createRuntimeHandlers(objects, (uid) => parts.runtimeClasses.refusal(uid)),
    ownNode: node,
    events: recorder,
    timeline: records.timeline,
    onChange: (uid) => changes.notify(uid),
    resize: {
      actuated: records.actuated,
      cgroups,
      onDone: (durationMs, succeeded) =>
        main.observe('kubelet_pod_resize_duration_milliseconds', { success: String(succeeded) }, durationMs),
    },
    onStarted: needs.noteStarted,
    health: () => monitor.health,
  });
}

function composeAllocation(
  parts: Given<'allocatedPods' | 'cache' | 'directory' | 'node' | 'recorder' | 'sourcesReady'>,
  admission: AdmissionManager,
): AllocationManager {
  const { settings, platform, records, queue, observation, store, directory, cache, node, recorder } = parts;
  return createAllocation({
    config: settings.config,
    cgroups: platform.cgroups,
    node,
    allocatedPods: parts.allocatedPods,
    allocated: records.allocated,
    actuated: records.actuated,
    sourcesReady: parts.sourcesReady,
    store,
    directory,
    cache,
    statuses: records.statuses,
    admission,
    sync: (uid) => queue.post({ kind: 'sync', uids: [uid] }),
    observe: observedResizes(observation.metrics),
    recorder,
    clock: platform.clock,
  });
}

/** Creates the container logs, and the record of logs that clients have read before they attach. */
function composeLogs(
  parts: Given<'cache'>,
): Pick<FeatureParts, 'noteStarted' | 'logRotation' | 'logReader' | 'logCleanup' | 'attachHistory'> {
  const { settings, platform, cache } = parts;
  const { clock, random, log, files, logFiles, runtime } = platform;
  const attachHistory = new AttachHistory();
  const logs = createContainerLogs({
    config: settings.config.containerLogs,
    runtime,
    files,
    logFiles,
    cache,
    onWholeRead: ({ container, end }) => attachHistory.noteRead(container.id, { end, atMs: clock.nowMs() }),
    clock,
    random,
    log,
  });
  return { attachHistory, ...logs };
}
