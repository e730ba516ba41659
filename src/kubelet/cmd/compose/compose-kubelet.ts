import { inBackground } from '../../../base/background.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { EvictionParts } from '../../features/eviction/create-eviction.ts';
import { createObservation } from '../../features/metrics/observation.ts';
import { observedPorts } from '../../features/metrics/observed-ports.ts';
import { announceStart } from '../../features/node/announce-start.ts';
import type { NodeAgent } from '../../features/node/create-node-agent.ts';
import { createNodeAgent } from '../../features/node/create-node-agent.ts';
import { ImageChanges } from '../../features/node/image-changes.ts';
import { checkNodeResolver } from '../../features/pod-runtime/create-pod-runtime.ts';
import { PodStore } from '../../features/pod-store/pod-store.ts';
import type { ScrapeEndpoints } from '../../features/server/scrape-routes.ts';
import type { StatsParts } from '../../features/stats/create-stats.ts';
import { connectChangeReactions } from '../../loop/change-reactions.ts';
import { PodChanges } from '../../loop/pod-changes.ts';
import { SyncQueue } from '../../loop/sync-queue.ts';
import { composePodsApi } from './compose-devices.ts';
import { composeEviction } from './compose-eviction.ts';
import { composeFeatures, composeKnown } from './compose-features.ts';
import { composeLoop } from './compose-loop.ts';
import { composeMetrics } from './compose-metrics.ts';
import type { Records } from './compose-records.ts';
import type { ComposeSettings } from './compose-settings.ts';
import { composeStats } from './compose-stats.ts';
import type { BaseParts, KubeletParts } from './kubelet-parts.ts';
import type { Platform } from './platform.ts';

export interface Kubelet extends KubeletParts {
  readonly nodeAgent: NodeAgent;
  readonly stats: StatsParts | undefined;
  readonly eviction: EvictionParts | undefined;
  /** The endpoints of statistics and metrics, for any server. */
  readonly scrape: ScrapeEndpoints;
  /**
   * Starts the agent. Rejects if the agent cannot work on this machine. It does not wait for the runtime or for the
   * sources of pods.
   */
  start(): Promise<void>;
  /** Stops the agent and saves its state to disk. Containers keep running. A second call waits for the first. */
  stop(): Promise<void>;
}

/** Creates the agent and connects its parts. Only the compose files do that. Nothing is started. */
export function composeKubelet(settings: ComposeSettings, outside: Platform, records: Records): Kubelet {
  const store = new PodStore();
  const imageChanges = new ImageChanges();
  const observation = createObservation(() => outside.clock.nowMs());
  const { metrics, starts } = observation;
  const platform = observedPorts<Platform>(
    { ...outside, images: imageChanges.followed(outside.images) },
    {
      metrics,
      pod: (uid) => store.byUid(uid),
      onPulled: (uid, fromMs, untilMs) => starts.pulled(uid, fromMs, untilMs),
    },
  );
  const queue = new SyncQueue();
  const changes = new PodChanges();
  const base: BaseParts = { settings, platform, records, queue, changes, observation, store };
  const known = { ...base, ...composeKnown(base) };
  const features = {
    ...known,
    ...composeFeatures(known, (uid) => driven.workers.kill(uid, { cause: 'evicted' })),
  };
  const driven = composeLoop(features);
  const parts: KubeletParts = { ...features, ...driven };
  const nodeAgent = composeNodeAgent(parts);
  imageChanges.onChange(() => nodeAgent.imagesChanged());
  parts.monitor.onChange(() => nodeAgent.runtimeChanged());
  metrics.main.collect(() => nodeAgent.startup().forEach(({ name, seconds }) => metrics.main.set(name, {}, seconds)));
  const stats = composeStats(parts);
  const eviction = composeEviction(parts, stats);
  const scrape: ScrapeEndpoints = new Map([...composeMetrics(parts, stats?.disks), ...(stats?.endpoints ?? [])]);
  const stages = composeStages(parts, nodeAgent, { stats, eviction });
  let stopping: Promise<void> | undefined;
  return {
    ...parts,
    nodeAgent,
    stats,
    eviction,
    scrape,
    start: async () => {
      composeReactions(parts);
      for (const [, start] of stages) {
        const started = start?.();
        if (started !== undefined) await started;
      }
    },
    stop: () => (stopping ??= composeStop(stages, platform)),
  };
}

function composeNodeAgent(parts: KubeletParts): NodeAgent {
  const { settings, platform, node, recorder, monitor, pleg, csi, volumes, attachWaiter } = parts;
  const { cluster, machine, network, runtime, runtimeName, images, files, clock, random, log } = platform;
  return createNodeAgent({
    config: settings.config,
    rootDir: settings.rootDir,
    cluster,
    machine,
    network,
    runtime,
    runtimeName,
    images,
    files,
    node,
    statusSources: {
      pressure: () => parts.records.pressure.flags(),
      machineConditions: () => parts.nodeProblems?.conditions ?? [],
      shutdownProblem: () => parts.shutdownState.problem(),
      devices: () => parts.devices.manager.capacity(),
      // The node is not ready before its drivers are published in the cluster (upstream: initializeCSINode).
      storageProblem: () => csi.nodeInfo?.problem(),
      volumesInUse: () => volumes.volumesInUse(),
      volumesReported: (names) => attachWaiter?.reported(names),
    },
    recorder,
    monitor,
    whenAdopted: () => pleg.whenAdopted(),
    clock,
    random,
    log,
  });
}

/** Records the first events of the node, and connects the reactions to later changes. */
function composeReactions(parts: KubeletParts): void {
  const { settings, platform, recorder } = parts;
  announceStart(recorder, platform.cgroups);
  inBackground(
    platform.log,
    'checking the resolver configuration of the node',
    checkNodeResolver(settings.config, platform.files, recorder),
  );
  connectChangeReactions({ ...parts, drivers: parts.csi.drivers });
}

type Stage = readonly [
  name: string,
  start: (() => Promise<unknown> | void) | undefined,
  stop: (() => Promise<void> | void) | undefined,
];

/**
 * Lists the parts in the order of their start; they stop in the opposite order. The running containers are read before
 * the sources of pods start, so that the first sync of each pod knows them and leaves healthy containers alone. No part
 * waits for the runtime at its start: the loop queues its inputs until the runtime is available. PLEG and the monitor
 * start before the parts that use them, and stop after them.
 */
function composeStages(
  parts: KubeletParts,
  nodeAgent: NodeAgent,
  { stats, eviction }: Pick<Kubelet, 'stats' | 'eviction'>,
): readonly Stage[] {
  const { records, allocation, clusterObjects, eventUploader, cgroups, userNamespaces, volumes, csi, node } = parts;
  const { pleg, monitor, probes, clusterPods, workers, admission, loop, containerGc, imageGc, logRotation } = parts;
  const { managers, sources, platform, devices } = parts;
  const podsApi = composePodsApi(parts);
  return [
    ['records', undefined, () => records.flush()],
    ['resizes', undefined, () => allocation.stop()],
    ['objects of the cluster', () => clusterObjects?.start(), () => clusterObjects?.stop()],
    ['credentials of pods', undefined, () => parts.podCredentials.stop()],
    ['events', undefined, () => eventUploader?.stop()],
    ['resource managers', () => managers.start(), () => managers.stop()],
    ['cgroups', undefined, () => cgroups.stop()],
    ['PLEG', undefined, () => pleg.stop()],
    ['runtime monitor', undefined, () => monitor.stop()],
    ['node setup', () => parts.nodeSetup.start(), () => parts.nodeSetup.stop()],
    [
      'volumes',
      () => Promise.all([cgroups.start(), volumes.reconstruct(), userNamespaces.start()]),
      () => volumes.stop(),
    ],
    ['devices', () => devices.start(), () => devices.stop()],
    ['resource claims', () => parts.dra.start(), () => parts.dra.stop()],
    ['pod resources', () => parts.podResources.start(), () => parts.podResources.stop()],
    ['CSINode', () => csi.nodeInfo?.start(), () => csi.nodeInfo?.stop()],
    ['plugins', () => csi.plugins.start(), () => csi.plugins.stop()],
    ['node watch', () => node.watch.start(), () => node.watch.stop()],
    ['node', () => nodeAgent.start(), () => nodeAgent.stop()],
    ['PLEG', () => pleg.start(), undefined],
    ['runtime monitor', () => monitor.start(), undefined],
    ['probes', undefined, () => probes.stop()],
    ['statuses', undefined, () => clusterPods?.stop()],
    [
      'pod workers',
      undefined,
      async () => {
        // Aborted passes may still wait for the API server. It may be away, and the agent must stop without it.
        const idle = workers.stop();
        platform.cluster?.close?.();
        await idle;
      },
    ],
    ['admission', undefined, () => admission.close()],
    [
      'sync loop',
      () => {
        inBackground(
          platform.log,
          'waiting for the runtime',
          pleg.whenAdopted().then(() => loop.wake()),
        );
        loop.start();
      },
      () => loop.stop(),
    ],
    ['container collection', () => containerGc.start(), () => containerGc.stop()],
    ['image collection', () => imageGc.start(), () => imageGc.stop()],
    ['node shutdown', () => parts.nodeShutdown.start(), () => parts.nodeShutdown.stop()],
    ['log rotation', () => logRotation.start(), () => logRotation.stop()],
    ['node problems', () => parts.nodeProblems?.start(), () => parts.nodeProblems?.stop()],
    ['OOM watcher', () => parts.oomWatcher.start(), () => parts.oomWatcher.stop()],
    ['statistics', () => stats?.provider.start(), () => stats?.provider.stop()],
    ['eviction', () => eviction?.manager.start(), () => eviction?.manager.stop()],
    ['pods API', () => podsApi.start(), () => podsApi.stop()],
    ['sources', () => inBackground(platform.log, 'reading the sources of pods', sources.start()), () => sources.stop()],
  ];
}

/** Stops the parts. A part that fails to stop is logged, so that the next ones can still save their state. */
async function composeStop(stages: readonly Stage[], { log }: Pick<Platform, 'log'>): Promise<void> {
  for (const [part, , stop] of stages.toReversed()) {
    if (stop === undefined) continue;
    try {
      await stop();
    } catch (error) {
      log.error('a part of the agent failed to stop', { part, error: errorMessage(error) });
    }
  }
}
