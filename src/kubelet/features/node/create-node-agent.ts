import { inBackground } from '../../../base/background.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import type { NodeFacts } from './compute-node.ts';
import { computeNode } from './compute-node.ts';
import { NodeInventory } from './node-inventory.ts';
import { NodeLease } from './node-lease.ts';
import type { NodeSource } from './node-reporter.ts';
import { NodeReporter } from './node-reporter.ts';
import type { NodeStatusSources } from './node-status-sources.ts';
import type { StartupSeconds } from './node-startup.ts';
import { computeStartupSeconds, NodeStartup } from './node-startup.ts';
import { OwnName } from './own-name.ts';
import { PodCidr } from './pod-cidr.ts';
import type { ClusterApi } from '../../ports/cluster-api.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { ImageRuntime } from '../../ports/images.ts';
import type { MachineFacts } from '../../ports/machine-facts.ts';
import type { NodeNetwork } from '../../ports/node-network.ts';
import type { NodeEventRecorder } from '../../ports/recorder.ts';
import type { ContainerRuntime, RuntimeHealth } from '../../ports/runtime.ts';
import type { NodeParts } from './create-node.ts';
import { networkOf } from './create-node.ts';

/** Registers the machine as a node of a cluster, and maintains its status and lease. */
export interface NodeAgent {
  start(): void;
  stop(): Promise<void>;
  /** Handles a change of the state of the runtime or its network, or the first list of its pods. */
  runtimeChanged(): void;
  imagesChanged(): void;
  /**
   * Returns the durations of the node's start, for metrics; none on a standalone node, because it is not registered.
   */
  startup(): readonly StartupSeconds[];
}

export interface NodeAgentParts {
  readonly config: Pick<KubeletConfig, 'node' | 'gates'>;
  readonly rootDir: string;
  /** The API; absent on a standalone node. */
  readonly cluster: Pick<ClusterApi, 'heartbeat' | 'reconnect' | 'whenJoined'> | undefined;
  readonly machine: MachineFacts;
  readonly network: NodeNetwork | undefined;
  readonly runtime: ContainerRuntime;
  readonly runtimeName: string;
  readonly images: ImageRuntime;
  readonly files: Pick<HostFiles, 'stat'>;
  readonly node: NodeParts;
  readonly statusSources: NodeStatusSources;
  readonly recorder: NodeEventRecorder;
  readonly monitor: {
    readonly health: RuntimeHealth | undefined;
    readyErrors(): readonly string[];
    networkError(): string | undefined;
  };
  /** Resolves when the running pods have been read for the first time. */
  readonly whenAdopted: () => Promise<void>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

export function createNodeAgent(parts: NodeAgentParts): NodeAgent {
  const { cluster } = parts;
  return cluster === undefined ? createStandalone(parts) : createMember(parts, cluster);
}

/** Creates the agent of a standalone node. It publishes nothing, but passes the configured pod CIDR to the runtime. */
function createStandalone({ config, runtime, log }: NodeAgentParts): NodeAgent {
  const { podCidr: configured } = config.node;
  const podCidr = new PodCidr((cidr) => runtime.updatePodCidr(cidr), log);
  const offer = (): void => podCidr.offer(configured === '' ? [] : [configured]);
  return {
    start: offer,
    stop: () => Promise.resolve(),
    runtimeChanged: offer,
    imagesChanged: () => undefined,
    startup: () => [],
  };
}

function createMember(parts: NodeAgentParts, cluster: NonNullable<NodeAgentParts['cluster']>): NodeAgent {
  const { runtime, images, machine, network, node, recorder, clock, random, log } = parts;
  const { node: config, gates } = parts.config;
  const { nodeName } = machine;
  const startup = new NodeStartup(clock);
  const podCidr = new PodCidr((cidr) => runtime.updatePodCidr(cidr), log);
  const wake = (): void => reporter.wake();
  const inventory = new NodeInventory({
    runtime,
    images,
    maxImages: config.statusMaxImages,
    onChange: wake,
    clock,
    random,
    log,
  });
  const ownName = new OwnName(async () => (await network?.resolve(nodeName)) ?? [], {
    onChange: wake,
    clock,
    log,
  });
  const reporter: NodeReporter = new NodeReporter({
    client: cluster.heartbeat,
    watch: node.watch,
    source: createSource(parts, inventory, ownName),
    settings: {
      nodeName,
      register: config.register,
      getOnExistsOnly: gates.enabled('KubeletRegistrationGetOnExistsOnly'),
      updatePeriodMs: config.statusUpdatePeriodMs,
      reportPeriodMs: config.statusReportPeriodMs,
    },
    recorder,
    startup,
    onReported: ({ metadata, spec = {}, status = {} }) => {
      // This is repeated, because the runtime may have refused.
      podCidr.offer(spec.podCIDRs ?? []);
      parts.statusSources.volumesReported(status.volumesInUse ?? []);
      lease.nodeIs(metadata.uid);
    },
    time: { clock, random, log },
  });
  const lease = createLease(parts, cluster, reporter);
  node.statusChanges.onChange(wake);
  // Before the node has joined, there is no API server to receive it.
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
        'starting to publish the status of the node',
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
    startup: () => computeStartupSeconds(startup.times, machine.bootedAtMs),
  };
}

function createLease(
  { config, machine, clock, random, log }: NodeAgentParts,
  cluster: NonNullable<NodeAgentParts['cluster']>,
  reporter: NodeReporter,
): NodeLease {
  return new NodeLease({
    client: cluster.heartbeat,
    nodeName: machine.nodeName,
    nodeUid: () => reporter.uid,
    durationMs: config.node.leaseDurationMs,
    onReach: (isReached) => (isReached ? reporter.retryNow() : cluster.reconnect?.()),
    clock,
    random,
    log,
  });
}

function createSource(
  {
    rootDir,
    machine,
    network,
    runtimeName,
    files,
    node,
    statusSources,
    monitor,
    whenAdopted,
    clock,
    log,
  }: NodeAgentParts,
  inventory: NodeInventory,
  ownName: OwnName,
): NodeSource {
  const identity = node.identity;
  // If the addresses are configured, no name is resolved.
  const named = (): readonly string[] =>
    identity.addresses.nodeIps.some((ip) => !/^[0:.]+$/.test(ip)) ? [] : ownName.addresses();
  const facts = (): NodeFacts => {
    const storage = statusSources.storageProblem();
    const problems = [...monitor.readyErrors(), monitor.networkError(), statusSources.shutdownProblem()];
    return {
      nowMs: clock.nowMs(),
      network: { ...networkOf({ network, machine }), named: named() },
      runtimeVersion: inventory.runtimeVersion ?? `${runtimeName}://Unknown`,
      runtime: monitor.health,
      images: inventory.images,
      pressure: statusSources.pressure(),
      machine: statusSources.machineConditions(),
      devices: statusSources.devices(),
      problems: problems.filter((problem) => problem !== undefined),
      openQuestions: storage === undefined ? [] : [storage],
      volumesInUse: statusSources.volumesInUse(),
    };
  };
  let adopted = false;
  inBackground(
    log,
    'waiting for the runtime',
    whenAdopted().then(() => {
      adopted = true;
      node.statusChanges.notify();
    }),
  );
  return {
    initial: () => {
      const { status: _, ...initial } = node.local(undefined);
      return initial;
    },
    compute: (before) => computeNode(before, identity, facts()),
    isUndetermined: () => monitor.health === undefined || !adopted,
    resetExtended: async () => !(await hasDeviceCheckpoint(files, rootDir)),
  };
}

/** Whether the device manager has a checkpoint (upstream: devicemanager ShouldResetExtendedResourceCapacity). */
async function hasDeviceCheckpoint(files: Pick<HostFiles, 'stat'>, rootDir: string): Promise<boolean> {
  return (await files.stat(`${rootDir}/device-plugins/kubelet_internal_checkpoint`)) !== undefined;
}
