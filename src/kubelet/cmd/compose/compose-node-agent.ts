import { inBackground } from '../../../base/background.ts';
import type { NodeFacts } from '../../features/node/compute-node.ts';
import { computeNode } from '../../features/node/compute-node.ts';
import { NodeInventory } from '../../features/node/node-inventory.ts';
import { NodeLease } from '../../features/node/node-lease.ts';
import { NodeReporter, type NodeSource } from '../../features/node/node-reporter.ts';
import { computeStartupSeconds, NodeStartup, type StartupSeconds } from '../../features/node/node-startup.ts';
import { OwnName } from '../../features/node/own-name.ts';
import { PodCidr } from '../../features/node/pod-cidr.ts';
import type { ClusterApi } from '../../ports/cluster-api.ts';
import type { ImageRuntime } from '../../ports/images.ts';
import type { LoopContext } from './compose-context.ts';
import { networkOf } from './compose-node.ts';
import type { World } from './world.ts';

/** What makes the machine a node of a cluster: its registration, status and lease. */
export interface NodeAgent {
  start(): void;
  stop(): Promise<void>;
  /** The runtime or its network came or went, or its pods were read for the first time. */
  runtimeChanged(): void;
  imagesChanged(): void;
  /** How the node came to be, for metrics; a node of its own is registered nowhere. */
  startup(): readonly StartupSeconds[];
}

export function composeNodeAgent(context: LoopContext): NodeAgent {
  const { cluster } = context.world;
  return cluster === undefined ? composeLone(context) : composeMember(context, cluster);
}

/** A node of its own tells nobody, but its runtime learns what the configuration says of the addresses of pods. */
function composeLone({ settings, world }: LoopContext): NodeAgent {
  const { podCidr: configured } = settings.config.node;
  const podCidr = new PodCidr((cidr) => world.runtime.updatePodCidr(cidr), world.log);
  const offer = (): void => podCidr.offer(configured === '' ? [] : [configured]);
  return {
    start: offer,
    stop: () => Promise.resolve(),
    runtimeChanged: offer,
    imagesChanged: () => undefined,
    startup: () => [],
  };
}

function composeMember(context: LoopContext, cluster: ClusterApi): NodeAgent {
  const { settings, world, knowledge } = context;
  const { clock, random, log } = world;
  const { node, recorder } = knowledge;
  const { node: config } = settings.config;
  const { nodeName } = world.machine;
  const startup = new NodeStartup(clock);
  const podCidr = new PodCidr((cidr) => world.runtime.updatePodCidr(cidr), log);
  const wake = (): void => reporter.wake();
  const inventory = new NodeInventory({
    runtime: world.runtime,
    images: world.images,
    maxImages: config.statusMaxImages,
    onChange: wake,
    clock,
    random,
    log,
  });
  const ownName = new OwnName(async () => (await world.network?.resolve(nodeName)) ?? [], {
    onChange: wake,
    clock,
    log,
  });
  const reporter: NodeReporter = new NodeReporter({
    client: cluster.heartbeat,
    watch: node.watch,
    source: composeSource(context, inventory, ownName),
    settings: {
      nodeName,
      register: config.register,
      getOnExistsOnly: settings.config.gates.enabled('KubeletRegistrationGetOnExistsOnly'),
      updatePeriodMs: config.statusUpdatePeriodMs,
      reportPeriodMs: config.statusReportPeriodMs,
    },
    recorder,
    startup,
    onReported: ({ metadata, spec = {}, status = {} }) => {
      // Again, for the runtime may have refused.
      podCidr.offer(spec.podCIDRs ?? []);
      node.seats.volumesReported(status.volumesInUse ?? []);
      lease.nodeIs(metadata.uid);
    },
    time: { clock, random, log },
  });
  const lease = composeLease(context, cluster, reporter);
  node.seats.changed = wake;
  // Before the node has joined there is nobody who would listen.
  const joined = cluster.whenJoined?.() ?? Promise.resolve();
  return {
    start: () => {
      podCidr.offer(config.podCidr === '' ? [] : [config.podCidr]);
      node.watch.onChange((seen) => podCidr.offer(seen?.spec?.podCIDRs ?? []));
      inventory.start();
      inBackground(
        log,
        'starting to keep the lease of the node',
        joined.then(() => lease.start()),
      );
      inBackground(
        log,
        'starting to tell the status of the node',
        Promise.all([joined, ownName.whenAsked()]).then(() => reporter.start()),
      );
    },
    stop: async () => {
      await Promise.all([reporter.stop(), lease.stop(), inventory.stop()]);
    },
    runtimeChanged: () => {
      inventory.runtimeChanged();
      wake();
    },
    imagesChanged: () => inventory.imagesChanged(),
    startup: () => computeStartupSeconds(startup.times, world.machine.bootedAtMs),
  };
}

function composeLease({ settings, world }: LoopContext, cluster: ClusterApi, reporter: NodeReporter): NodeLease {
  const { clock, random, log, machine } = world;
  return new NodeLease({
    client: cluster.heartbeat,
    nodeName: machine.nodeName,
    nodeUid: () => reporter.uid,
    durationMs: settings.config.node.leaseDurationMs,
    onReach: (isReached) => (isReached ? reporter.retryNow() : cluster.reconnect?.()),
    clock,
    random,
    log,
  });
}

function composeSource(
  { settings, world, knowledge, actors }: LoopContext,
  inventory: NodeInventory,
  ownName: OwnName,
): NodeSource {
  const { node } = knowledge;
  const { monitor, pleg } = actors;
  const identity = node.identity;
  // Without a name to look up: the addresses are given.
  const named = (): readonly string[] =>
    identity.addresses.nodeIps.some((ip) => !/^[0:.]+$/.test(ip)) ? [] : ownName.addresses();
  const facts = (): NodeFacts => {
    const { seats } = node;
    const storage = seats.storageProblem();
    const problems = [...monitor.readyErrors(), monitor.networkError(), seats.shutdownProblem()];
    return {
      nowMs: world.clock.nowMs(),
      network: { ...networkOf({ network: world.network, machine: world.machine }), named: named() },
      runtimeVersion: inventory.runtimeVersion ?? `${world.runtimeName}://Unknown`,
      runtime: monitor.health,
      images: inventory.images,
      pressure: seats.pressure(),
      problems: problems.filter((problem) => problem !== undefined),
      openQuestions: storage === undefined ? [] : [storage],
      volumesInUse: seats.volumesInUse(),
    };
  };
  let adopted = false;
  inBackground(
    world.log,
    'waiting for the runtime',
    pleg.whenAdopted().then(() => {
      adopted = true;
      node.seats.changed();
    }),
  );
  return {
    initial: () => {
      const { status: _, ...initial } = node.local(undefined);
      return initial;
    },
    compute: (before) => computeNode(before, identity, facts()),
    isUndetermined: () => monitor.health === undefined || !adopted,
    resetExtended: async () => !(await hasDeviceCheckpoint(world, settings.rootDir)),
  };
}

/** What the device manager remembers (upstream: devicemanager ShouldResetExtendedResourceCapacity). */
async function hasDeviceCheckpoint({ files }: World, rootDir: string): Promise<boolean> {
  return (await files.stat(`${rootDir}/device-plugins/kubelet_internal_checkpoint`)) !== undefined;
}

/** The same images, with word of each that comes or goes. */
export function tellOfImages(images: ImageRuntime, changed: () => void): ImageRuntime {
  const after = async <T>(work: Promise<T>): Promise<T> => {
    const result = await work;
    changed();
    return result;
  };
  return {
    listImages: (options) => images.listImages(options),
    imageStatus: (image, handler, options) => images.imageStatus(image, handler, options),
    pullImage: (image, pull, options) => after(images.pullImage(image, pull, options)),
    removeImage: (image, options) => after(images.removeImage(image, options)),
    imageFsInfo: (options) => images.imageFsInfo(options),
  };
}
