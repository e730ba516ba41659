import { nodeEvents } from '../../../api/reasons.ts';
import { inBackground } from '../../../base/background.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { ScrapeEndpoints } from '../../features/server/scrape-routes.ts';
import { podUid } from '../../model/ids.ts';
import type { Actors, Knowledge, Links } from './compose-context.ts';
import { composeActors, composeKnowledge } from './compose-features.ts';
import { composeNodeAgent, tellOfImages, type NodeAgent } from './compose-node-agent.ts';
import { composeLoop, type LoopParts } from './compose-loop.ts';
import { checkNodeResolver } from './compose-pod-runtime.ts';
import type { Records } from './compose-records.ts';
import type { ComposeSettings } from './compose-settings.ts';
import { composeMetrics, createObservation } from './compose-metrics.ts';
import { composeStats, type StatsParts } from './compose-stats.ts';
import { observedWorld } from './observed-world.ts';
import type { World } from './world.ts';

export interface Kubelet extends Knowledge, Actors, LoopParts {
  settings: ComposeSettings;
  world: World;
  records: Records;
  nodeAgent: NodeAgent;
  stats: StatsParts | undefined;
  /** The endpoints of statistics and metrics, for whichever server. */
  scrape: ScrapeEndpoints;
  /** Rejects when the agent cannot work on this machine at all. Waits neither for the runtime nor for the sources of pods. */
  start(): Promise<void>;
  /** Leaves the node as it is: containers live on, what is remembered is on disk. The second call waits for the first. */
  stop(): Promise<void>;
}

const CGROUP_V1 =
  'cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. Please migrate to cgroup v2. More information at https://git.k8s.io/enhancements/keps/sig-node/5573-remove-cgroup-v1';

/** The agent is made and joined in the compose files and nowhere else. Starts nothing. */
export function composeKubelet(settings: ComposeSettings, outside: World, records: Records): Kubelet {
  const observation = createObservation(() => outside.clock.nowMs());
  const { metrics, starts } = observation;
  const told: World = { ...outside, images: tellOfImages(outside.images, () => nodeAgent.imagesChanged()) };
  const world = observedWorld(told, {
    metrics,
    pod: (uid) => knowledge.store.byUid(uid),
    onPulled: (uid, fromMs, untilMs) => starts.pulled(uid, fromMs, untilMs),
  });
  const unset = (): never => {
    throw new Error('a feature acted before the agent was composed');
  };
  const links: Links = {
    post: unset,
    refreshStatus: unset,
    runtimeChanged: unset,
    runtimeClassRefusal: unset,
    sourcesReady: unset,
    isOver: unset,
    misfit: unset,
    activePods: unset,
  };
  const knowledge: Knowledge = { ...composeKnowledge(settings, world, records), observation };
  const actors = composeActors({ settings, world, records, knowledge, links });
  const loop = composeLoop({ settings, world, records, knowledge, actors, links });
  const nodeAgent = composeNodeAgent({ settings, world, records, knowledge, actors, links });
  const { runtimeChanged } = links;
  links.runtimeChanged = () => {
    runtimeChanged();
    nodeAgent.runtimeChanged();
  };
  metrics.main.collect(() => nodeAgent.startup().forEach(({ name, seconds }) => metrics.main.set(name, {}, seconds)));
  const stats = composeStats({ settings, world, records, knowledge, actors, links });
  const scrape: ScrapeEndpoints = new Map([
    ...composeMetrics(observation, { settings, world, knowledge, actors, loop, statuses: records.statuses, stats }),
    ...(stats?.endpoints ?? []),
  ]);
  const parts = { settings, world, records, ...knowledge, ...actors, ...loop, nodeAgent, stats, scrape };
  let stopping: Promise<void> | undefined;
  return { ...parts, start: () => startKubelet(parts), stop: () => (stopping ??= stopKubelet(parts)) };
}

type Startable = Omit<Kubelet, 'start' | 'stop'>;

/**
 * Order: what runs is known before anything is wanted, so that the first pass over each pod sees it and leaves healthy containers alone.
 * Nothing here waits for the runtime for ever: the loop holds its inputs until it is up.
 */
async function startKubelet(parts: Startable): Promise<void> {
  const {
    cache,
    probes,
    objects,
    store,
    volumes,
    cgroups,
    pleg,
    monitor,
    loop,
    sources,
    status,
    world,
    containerGc,
    imageGc,
    logRotation,
    userNamespaces,
    csi,
  } = parts;
  sayStarting(parts);
  cache.onChange(({ uid, after }) => {
    if (after !== undefined) probes.noteStatus(after);
    status.refresh(uid);
  });
  objects.onChange((change) => {
    const { kind, namespace, name } = change;
    volumes.objectChanged(change);
    const uids = store.podsUsing(kind, namespace, name).map((pod) => podUid(pod.metadata.uid));
    if (uids.length > 0) loop.post({ kind: 'sync', uids });
  });
  // What waits for a driver goes on when it comes, as if its object had changed.
  csi.drivers.onChange((name, isRegistered) => {
    if (!isRegistered) return;
    volumes.objectChanged({ kind: 'CSIDriver', namespace: '', name });
    volumes.undoAgain();
    loop.post({
      kind: 'sync',
      uids: [...parts.workers.known()].filter(([, { phase }]) => phase === 'terminated').map(([uid]) => uid),
    });
    loop.post({ kind: 'housekeeping' });
  });
  parts.clusterObjects?.start();
  await Promise.all([cgroups.start(), volumes.reconstruct(), userNamespaces.start()]);
  csi.nodeInfo?.start();
  csi.plugins.start();
  parts.node.watch.start();
  parts.nodeAgent.start();
  pleg.start();
  monitor.start();
  inBackground(
    world.log,
    'waiting for the runtime',
    pleg.whenAdopted().then(() => loop.wake()),
  );
  loop.start();
  containerGc.start();
  imageGc.start();
  logRotation.start();
  parts.stats?.provider.start();
  inBackground(world.log, 'reading the sources of pods', sources.start());
}

function sayStarting({ recorder, settings, world }: Pick<Startable, 'recorder' | 'settings' | 'world'>): void {
  recorder.nodeEvent('Normal', nodeEvents.starting, 'Starting kubelet.');
  if (world.cgroups.version === 1) recorder.nodeEvent('Warning', nodeEvents.cgroupV1, CGROUP_V1);
  inBackground(
    world.log,
    'looking at the resolver configuration of the node',
    checkNodeResolver(settings.config, world, recorder),
  );
}

/** Passes that are given up may wait for the API server, as do those that come after: it may be away, and nobody can stop a machine that waits for it. */
async function stopWorkers({ workers, world }: Startable): Promise<void> {
  const idle = workers.stop();
  world.cluster?.close?.();
  await idle;
}

/** In the reverse of the order of starting. What cannot be stopped in order is said and does not keep the rest from being saved. */
async function stopKubelet(parts: Startable): Promise<void> {
  const { sources, loop, monitor, pleg, probes, volumes, cgroups, records } = parts;
  const steps: readonly [string, () => Promise<void> | void][] = [
    ['sources', () => sources.stop()],
    ['statistics', () => parts.stats?.provider.stop()],
    ['log rotation', () => parts.logRotation.stop()],
    ['image collection', () => parts.imageGc.stop()],
    ['container collection', () => parts.containerGc.stop()],
    ['sync loop', () => loop.stop()],
    ['admission', () => parts.admission.close()],
    ['pod workers', () => stopWorkers(parts)],
    ['statuses', () => parts.clusterPods?.stop()],
    ['probes', () => probes.stop()],
    ['node', () => parts.nodeAgent.stop()],
    ['node watch', () => parts.node.watch.stop()],
    ['plugins', () => parts.csi.plugins.stop()],
    ['CSINode', () => parts.csi.nodeInfo?.stop()],
    ['volumes', () => volumes.stop()],
    ['runtime monitor', () => monitor.stop()],
    ['PLEG', () => pleg.stop()],
    ['cgroups', () => cgroups.stop()],
    ['events', () => parts.eventUploader?.stop()],
    ['objects of the cluster', () => parts.clusterObjects?.stop()],
    ['resizes', () => parts.allocation.stop()],
    ['records', () => records.flush()],
  ];
  for (const [part, stop] of steps) {
    try {
      await stop();
    } catch (error) {
      parts.world.log.error('a part of the agent could not be stopped in order', { part, error: errorMessage(error) });
    }
  }
}
