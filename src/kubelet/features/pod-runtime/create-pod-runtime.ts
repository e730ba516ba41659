import { PodRuntime } from './pod-runtime.ts';
import type { PodRuntimeDeps } from './deps.ts';
import type { DnsConfig } from './config/dns-config.ts';
import { nodeResolverProblem, parseResolvConf } from './config/dns-config.ts';
import type { ContainerSettings, NodeFacts } from './config/node-facts.ts';
import { nodeEvents } from '../../../api/reasons.ts';
import { errorMessage, isKind, KubeletError } from '../../../base/errors.ts';
import { memoryQosOf } from '../../model/memory-qos.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import type { RuntimeHealth } from '../../ports/runtime.ts';
import type { ResourceList } from '../../../api/core/resource-requirements.ts';
import type { Cgroups } from '../../ports/cgroups.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { MachineFacts } from '../../ports/machine-facts.ts';
import type { NodeEventRecorder } from '../../ports/recorder.ts';

const MICROSECONDS_PER_MS = 1000;

function containerSettings(config: KubeletConfig, rootDir: string, cgroupVersion: 1 | 2): ContainerSettings {
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
    memoryQos: memoryQosOf(config, cgroupVersion),
    stopSignals: config.gates.enabled('ContainerStopSignals'),
  };
}

interface OwnNode {
  readonly allocatable: ResourceList;
  readonly memoryForPodsBytes: number;
  readonly hostIps: () => readonly string[];
}

/**
 * Returns the facts about the node that affect containers. Handlers come from the runtime's status and may change when
 * it restarts.
 */
function nodeFacts({ machine, cgroups, ownNode, health: healthNow }: CreatePodRuntimeParts): NodeFacts {
  const { allocatable, memoryForPodsBytes, hostIps } = ownNode;
  const health = healthNow();
  return {
    nodeName: machine.nodeName,
    hostIps: hostIps(),
    memoryCapacityBytes: machine.memoryBytes,
    swapCapacityBytes: machine.swapBytes,
    allocatable,
    memoryForPodsBytes,
    cgroupVersion: cgroups.version,
    swapControl: cgroups.swapControl,
    hugePageSizes: machine.hugePageSizes,
    thermalThrottlePaths: machine.thermalThrottlePaths,
    selinuxEnabled: machine.selinuxEnabled,
    handlers: new Map((health?.handlers ?? []).map((handler) => [handler.name, handler])),
  };
}

/**
 * Reads the node's resolver configuration when a sandbox needs it. As upstream, a configured file that is missing keeps
 * pods from starting: otherwise they would get a resolver that was not configured.
 */
async function hostDns(
  config: Pick<KubeletConfig, 'network'>,
  files: Pick<HostFiles, 'readText'>,
): Promise<DnsConfig | undefined> {
  const { resolvConf } = config.network;
  if (resolvConf === '') return undefined;
  try {
    return parseResolvConf(await files.readText(resolvConf));
  } catch (error) {
    if (isKind(error, 'NotFound'))
      throw new KubeletError('NotFound', `open ${resolvConf}: no such file or directory`, { cause: error });
    throw error;
  }
}

/**
 * Reports once which problems of the node's resolver configuration affect all pods. A problem of a single pod is
 * reported with that pod.
 */
export async function checkNodeResolver(
  config: Pick<KubeletConfig, 'network'>,
  files: Pick<HostFiles, 'readText'>,
  recorder: NodeEventRecorder,
): Promise<void> {
  const { resolvConf: path, clusterDomain } = config.network;
  const problem = await hostDns(config, files).then(
    (dns) => (dns === undefined ? undefined : nodeResolverProblem(dns, { path, clusterDomain })),
    errorMessage,
  );
  if (problem !== undefined) recorder.nodeEvent('Warning', nodeEvents.checkLimitsForResolvConf, problem);
}

export interface CreatePodRuntimeParts
  extends Omit<
    PodRuntimeDeps,
    'settings' | 'node' | 'hostDns' | 'cores' | 'maxContainerRestartPeriodMs' | 'reducedCrashDecay'
  > {
  readonly config: KubeletConfig;
  readonly rootDir: string;
  readonly machine: MachineFacts;
  readonly cgroups: Pick<Cgroups, 'version' | 'swapControl'>;
  readonly ownNode: OwnNode;
  /** Returns the runtime's current status. */
  readonly health: () => RuntimeHealth | undefined;
}

/** Creates the part that starts and stops the containers of pods, as this node is configured. */
export function createPodRuntime(parts: CreatePodRuntimeParts): PodRuntime {
  const { config, rootDir, machine, cgroups: _cgroups, ownNode: _ownNode, health: _health, ...deps } = parts;
  return new PodRuntime({
    ...deps,
    settings: containerSettings(config, rootDir, parts.cgroups.version),
    node: () => nodeFacts(parts),
    hostDns: () => hostDns(config, parts.files),
    cores: machine.cores,
    maxContainerRestartPeriodMs: config.runtime.restartBackoffMaxMs,
    reducedCrashDecay: config.gates.enabled('ReduceDefaultCrashLoopBackOffDecay'),
  });
}
