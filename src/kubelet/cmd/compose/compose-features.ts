import { goQuote } from '../../../api/go-quote.ts';
import { nodeEvents } from '../../../api/reasons.ts';
import { KubeletError } from '../../../base/errors.ts';
import { ContainerManager } from '../../features/container-manager/container-manager.ts';
import { readTerminationMessage } from '../../features/container-logs/termination-message.ts';
import { ActivityBoard } from '../../features/explain/activity-board.ts';
import { computeExitEntry } from '../../features/explain/exit-entry.ts';
import { HookRunner } from '../../features/lifecycle-hooks/hook-runner.ts';
import { Pleg } from '../../features/pleg/pleg.ts';
import { RuntimeCache } from '../../features/pleg/runtime-cache.ts';
import type { RuntimeHandlers } from '../../features/pod-runtime/interfaces.ts';
import type { PodRuntime } from '../../features/pod-runtime/pod-runtime.ts';
import { PodStore } from '../../features/pod-store/pod-store.ts';
import { ProbeManager } from '../../features/probes/probe-manager.ts';
import { createVolumeManager } from '../../features/volumes/create-volume-manager.ts';
import type { VolumeManager } from '../../features/volumes/volume-manager.ts';
import { RuntimeMonitor } from '../../loop/runtime-monitor.ts';
import { podUid, type PodUid } from '../../model/ids.ts';
import type { ClusterObjects } from '../../ports/cluster-objects.ts';
import { composeAttachGate } from './compose-attachments.ts';
import { composeClusterObjects } from './compose-cluster-objects.ts';
import { composeCsi, type CsiParts } from './compose-csi.ts';
import { composeEvents } from './compose-events.ts';
import { composeNode } from './compose-node.ts';
import { composeAllocation } from './compose-allocation.ts';
import type { Actors, FeatureContext, Knowledge, Links } from './compose-context.ts';
import { noteVolumeOperation } from '../../features/metrics/storage.ts';
import { noteRelist, observeProbe } from './compose-metrics.ts';
import { composePodRuntime } from './compose-pod-runtime.ts';
import type { Records } from './compose-records.ts';
import type { ComposeSettings } from './compose-settings.ts';
import { composeImages } from './compose-images.ts';
import { composeLogs } from './compose-logs.ts';
import type { World } from './world.ts';

const MICROSECONDS_PER_MS = 1000;

/** Throws `Invalid` when the node cannot be what the configuration asks for. */
export function composeKnowledge(
  settings: ComposeSettings,
  world: World,
  records: Records,
): Omit<Knowledge, 'observation'> {
  return {
    store: new PodStore(),
    ...composeClusterObjects(settings, world, records),
    cache: new RuntimeCache(world.clock),
    board: new ActivityBoard(world.clock),
    ...composeEvents(world, records),
    node: composeNode(settings.config, world, settings.node),
  };
}

export function composeActors(context: FeatureContext): Actors {
  const pleg = composePleg(context);
  const monitor = composeMonitor(context, pleg);
  const probes = composeProbes(context);
  const images = composeImages(context);
  const logs = composeLogs(context);
  const csi = composeCsi(context.world, { rootDir: context.settings.rootDir, ...context.knowledge });
  const allocation = composeAllocation(context);
  const cgroups = composeCgroups(context);
  return {
    ...images,
    ...logs,
    pleg,
    monitor,
    probes,
    volumes: composeVolumes(context, csi),
    csi,
    cgroups,
    allocation,
    podRuntime: composeRuntime(context, { monitor, probes, cgroups, ...images, ...logs }),
  };
}

function composePleg({ settings, world, knowledge, links, records }: FeatureContext): Pleg {
  const { clock, random, log, runtime, logFiles, eventSources: sources } = world;
  const messages = { logFiles, rootDir: settings.rootDir, podLogsDir: settings.config.containerLogs.podLogsDir };
  const { cache } = knowledge;
  let adopted = false;
  const noteExit = (uid: PodUid, id: string): void => {
    const container = cache.container(id);
    if (container?.state === 'exited') records.timeline.record(uid, computeExitEntry(container));
  };
  const pleg = new Pleg({
    clock,
    random,
    log,
    runtime,
    sources,
    cache,
    terminationMessage: (ended) => readTerminationMessage(messages, ended),
    onPodRead: (durationMs) =>
      knowledge.observation.metrics.main.observe('kubelet_pleg_pod_relist_duration_seconds', {}, durationMs / 1000),
    onRelist: (durationMs) => noteRelist(knowledge.observation, durationMs, clock.monotonicMs()),
    // What the agent did itself it knows already.
    onEvent: (event, origin) => {
      if (origin !== 'observed') return;
      // What had ended before the agent came is in the record already.
      if (adopted && event.kind === 'ContainerDied') noteExit(event.podUid, event.containerId);
      links.post({ kind: 'pleg', event });
    },
  });
  void pleg.whenAdopted().then(() => (adopted = true));
  return pleg;
}

function composeMonitor({ world, links }: FeatureContext, pleg: Pleg): RuntimeMonitor {
  const { clock, random, log, runtime } = world;
  let adopted = false;
  void pleg.whenAdopted().then(() => (adopted = true));
  const moreErrors = (): string[] => {
    const health = pleg.health();
    if (!health.ok) return [`PLEG is not healthy: ${health.reason}`];
    // A pass over a pod that runs but was not read yet could only fail and be tried again later.
    return adopted ? [] : ['PLEG is not healthy: the pods that run are being read for the first time'];
  };
  return new RuntimeMonitor({ runtime, clock, random, log, moreErrors, onChange: () => links.runtimeChanged() });
}

/** Probes and hooks of pods on the host's network go here. */
function hostIpOf({ node }: Knowledge): () => string {
  return () => node.hostIps()[0] ?? '127.0.0.1';
}

function composeProbes({ world, knowledge, records, links }: FeatureContext): ProbeManager {
  const { clock, random, log, runtime, dial, nodeLoad } = world;
  const { recorder } = knowledge;
  const probes: ProbeManager = new ProbeManager({
    clock,
    random,
    log,
    recorder,
    runtime,
    dial,
    nodeLoad,
    hostIp: hostIpOf(knowledge),
    onUpdate: (update) => links.post({ kind: 'probe', ...update }),
    onProbe: observeProbe(knowledge.observation),
    onSnapshotChange: (change) => save(change),
  });
  const save = records.keepProbes(() => probes.snapshot());
  probes.restore(records.probes);
  return probes;
}

function composeVolumes({ settings, world, knowledge }: FeatureContext, csi: CsiParts): VolumeManager {
  const { clock, random, log, files, guardedFiles, mounts, processes } = world;
  const { objects, tokens, recorder } = knowledge;
  const { rootDir } = settings;
  const manager: VolumeManager = createVolumeManager({
    ...composeAttachGate(world, settings.config, knowledge.node, () => manager),
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
    onOperation: (operation) => noteVolumeOperation(knowledge.observation.metrics, operation),
    standalone: world.cluster === undefined,
    driverDir: settings.config.volumes.driverDir,
    morePlugins: [csi.volumes],
    node: () => {
      const { name, labels = {} } = knowledge.node.object(undefined).metadata;
      return { name, labels };
    },
    nodeAllocatable: () => knowledge.node.allocatable,
  });
  return manager;
}

function composeCgroups({ settings, world, knowledge, links }: FeatureContext): ContainerManager {
  const { cgroups: config } = settings.config;
  const { machine, cgroups, clock, random, log } = world;
  return new ContainerManager({
    cgroups,
    clock,
    random,
    log,
    config: {
      cgroupsPerQOS: config.perQos,
      cgroupRoot: config.root,
      cpuCFSQuota: config.cpuQuota,
      cpuCFSQuotaPeriodUs: config.cpuQuotaPeriodMs * MICROSECONDS_PER_MS,
      podPidsLimit: config.podPidsLimit,
      hugePageSizesBytes: machine.hugePageSizesBytes,
    },
    rootLimits: () => knowledge.node.podsCgroupLimits,
    onRootLimits: ({ problem }) => {
      if (problem === undefined)
        knowledge.recorder.nodeEvent(
          'Normal',
          nodeEvents.nodeAllocatableEnforced,
          'Updated Node Allocatable limit across pods',
        );
      else
        knowledge.recorder.nodeEvent(
          'Warning',
          nodeEvents.failedNodeAllocatableEnforcement,
          `Failed to update Node Allocatable Limits [${[...config.root.split('/').filter((part) => part !== ''), 'kubepods'].map(goQuote).join(' ')}]: ${problem}`,
        );
    },
    activePods: () => links.activePods(),
  });
}

/** Upstream: runtimeclass_manager.go LookupRuntimeHandler. */
function composeHandlers(objects: ClusterObjects, links: Links): RuntimeHandlers {
  return {
    lookup: async (pod) => {
      const name = pod.spec.runtimeClassName ?? '';
      if (name === '') return '';
      const found = await objects.get('RuntimeClass', '', name);
      if (found === undefined)
        throw new KubeletError('NotFound', `runtimeclass.node.k8s.io ${goQuote(name)} not found`);
      const refusal = links.runtimeClassRefusal(podUid(pod.metadata.uid));
      if (refusal !== undefined) throw new KubeletError('Invalid', refusal);
      return found.handler;
    },
  };
}

const HOOK_ODDITIES = {
  httpFallback: 'kubelet_lifecycle_handler_http_fallbacks_total',
  sleepCutShort: 'kubelet_sleep_action_terminated_early_total',
} as const;

type RuntimeNeeds = Pick<Actors, 'monitor' | 'probes' | 'cgroups' | 'images' | 'logLinks' | 'logRotation'>;

function composeRuntime(
  { settings, world, records, knowledge, links }: FeatureContext,
  needs: RuntimeNeeds,
): PodRuntime {
  const { clock, log, runtime, dial } = world;
  const { cache, objects, recorder } = knowledge;
  const { monitor, probes, cgroups, images, logLinks, logRotation } = needs;
  const { main } = knowledge.observation.metrics;
  return composePodRuntime(settings, world, {
    images,
    hooks: new HookRunner({
      runtime,
      dial,
      recorder,
      clock,
      log,
      hostIp: hostIpOf(knowledge),
      onOddity: (oddity) => main.count(HOOK_ODDITIES[oddity]),
    }),
    probes,
    cache,
    objects: {
      configMap: (namespace, name) => objects.get('ConfigMap', namespace, name),
      secret: (namespace, name) => objects.get('Secret', namespace, name),
    },
    services: { services: () => objects.list('Service', '') },
    handlers: composeHandlers(objects, links),
    ownNode: knowledge.node,
    events: recorder,
    timeline: records.timeline,
    onChange: (uid) => links.refreshStatus(uid),
    resize: {
      actuated: records.actuated,
      cgroups,
      onDone: (durationMs, succeeded) =>
        main.observe('kubelet_pod_resize_duration_milliseconds', { success: String(succeeded) }, durationMs),
    },
    onStarted: (pod, status) => {
      logRotation.noteStarted(status.id);
      void logLinks.link(pod.metadata, status);
    },
    health: () => monitor.health,
  });
}
