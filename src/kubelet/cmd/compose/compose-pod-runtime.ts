import type { EventLog } from '../../features/events/event-recorder.ts';
import { PodRuntime } from '../../features/pod-runtime/pod-runtime.ts';
import type { PodRuntimeDeps } from '../../features/pod-runtime/deps.ts';
import { nodeResolverProblem, parseResolvConf, type DnsConfig } from '../../features/pod-runtime/config/dns-config.ts';
import type { ContainerSettings, NodeFacts } from '../../features/pod-runtime/config/node-facts.ts';
import { nodeEvents } from '../../../api/reasons.ts';
import { errorMessage, isKind, KubeletError } from '../../../base/errors.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import type { RuntimeHealth } from '../../ports/runtime.ts';
import type { NodeParts } from './compose-node.ts';
import type { World } from './world.ts';

const MICROSECONDS_PER_MS = 1000;

function containerSettings(config: KubeletConfig, rootDir: string): ContainerSettings {
  return {
    rootDir,
    podLogsDir: config.containerLogs.podLogsDir,
    clusterDomain: config.network.clusterDomain,
    clusterDns: config.network.clusterDns,
    seccompDefault: config.runtime.seccompDefault,
    cpuCfsQuota: config.cgroups.cpuQuota,
    cpuCfsQuotaPeriodUs: config.cgroups.cpuQuotaPeriodMs * MICROSECONDS_PER_MS,
    singleProcessOomKill: config.cgroups.singleProcessOomKill,
    swapBehavior: config.cgroups.swapBehavior,
    stopSignals: config.gates.enabled('ContainerStopSignals'),
  };
}

type OwnNode = Pick<NodeParts, 'allocatable' | 'hostIps'>;

/** The node as containers see it. Handlers come from the runtime's status and may change when it restarts. */
function nodeFacts(world: World, { allocatable, hostIps }: OwnNode, health: RuntimeHealth | undefined): NodeFacts {
  const { machine, cgroups } = world;
  return {
    nodeName: machine.nodeName,
    hostIps: hostIps(),
    memoryCapacityBytes: machine.memoryBytes,
    swapCapacityBytes: machine.swapBytes,
    allocatable,
    cgroupVersion: cgroups.version,
    swapControl: cgroups.swapControl,
    hugePageSizes: machine.hugePageSizes,
    thermalThrottlePaths: machine.thermalThrottlePaths,
    selinuxEnabled: machine.selinuxEnabled,
    handlers: new Map((health?.handlers ?? []).map((handler) => [handler.name, handler])),
  };
}

/** Reads the node's resolver configuration when a sandbox needs it. A file that is named and missing keeps pods from starting, as upstream: else they would get a resolver that nobody chose. */
async function hostDns(config: KubeletConfig, world: World): Promise<DnsConfig | undefined> {
  const { resolvConf } = config.network;
  if (resolvConf === '') return undefined;
  try {
    return parseResolvConf(await world.files.readText(resolvConf));
  } catch (error) {
    if (isKind(error, 'NotFound'))
      throw new KubeletError('NotFound', `open ${resolvConf}: no such file or directory`, { cause: error });
    throw error;
  }
}

/** Says once what is wrong with the node's resolver configuration for all pods. What its limits cut off from one pod is told with that pod. */
export async function checkNodeResolver(
  config: KubeletConfig,
  world: World,
  recorder: Pick<EventLog, 'nodeEvent'>,
): Promise<void> {
  const { resolvConf: path, clusterDomain } = config.network;
  const problem = await hostDns(config, world).then(
    (dns) => (dns === undefined ? undefined : nodeResolverProblem(dns, { path, clusterDomain })),
    errorMessage,
  );
  if (problem !== undefined) recorder.nodeEvent('Warning', nodeEvents.checkLimitsForResolvConf, problem);
}

type Given = Pick<
  PodRuntimeDeps,
  | 'images'
  | 'hooks'
  | 'probes'
  | 'cache'
  | 'objects'
  | 'services'
  | 'handlers'
  | 'events'
  | 'timeline'
  | 'onChange'
  | 'resize'
  | 'onStarted'
>;

export function composePodRuntime(
  settings: { config: KubeletConfig; rootDir: string },
  world: World,
  given: Given & { ownNode: OwnNode; health: () => RuntimeHealth | undefined },
): PodRuntime {
  const { config, rootDir } = settings;
  const { health, ownNode, ...features } = given;
  return new PodRuntime({
    ...features,
    runtime: world.runtime,
    files: world.files,
    mounts: world.mounts,
    clock: world.clock,
    random: world.random,
    log: world.log,
    settings: containerSettings(config, rootDir),
    node: () => nodeFacts(world, ownNode, health()),
    hostDns: () => hostDns(config, world),
    cores: world.machine.cores,
    maxContainerRestartPeriodMs: config.runtime.restartBackoffMaxMs,
  });
}
