import type { Pod } from '../../../../api/core/pod.ts';
import { isNodeCriticalPod, isRestartableInit } from '../../../../api/pod.ts';
import type { AnyContainer } from '../../../../api/pod.ts';
import { podQos } from '../../../../api/qos.ts';
import { quantityValue } from '../../../../api/quantity.ts';
import { aggregateContainers, isHugePageResource, podLimits, podRequests } from '../../../../api/resources.ts';
import { bytesOf, milliOf } from '../../../model/actual-resources.ts';
import { quotaOfMilliCpu, sharesOfMilliCpu } from '../../../model/cpu-units.ts';
import { mayUseSwap } from '../../../model/swap.ts';
import type { LinuxResources } from '../../../ports/runtime.ts';
import { memoryQosConfig } from './memory-qos-config.ts';
import type { ContainerSettings, NodeFacts, PodPlacement } from './node-facts.ts';

const GUARANTEED_OOM_SCORE = -997;
const BEST_EFFORT_OOM_SCORE = 1000;

export interface ResourceFacts {
  readonly settings: Pick<
    ContainerSettings,
    'cpuCfsQuota' | 'cpuCfsQuotaPeriodUs' | 'memoryQos' | 'singleProcessOomKill' | 'swapBehavior'
  >;
  readonly node: Pick<
    NodeFacts,
    | 'memoryCapacityBytes'
    | 'memoryForPodsBytes'
    | 'swapCapacityBytes'
    | 'cgroupVersion'
    | 'swapControl'
    | 'hugePageSizes'
  >;
  readonly placement: Pick<PodPlacement, 'exclusiveCpus' | 'pinning'>;
}

/**
 * Builds CRI's Linux resources of a container (upstream: kuberuntime_container_linux.go
 * generateLinuxContainerResources).
 */
export function containerResources(pod: Pod, container: AnyContainer, facts: ResourceFacts): LinuxResources {
  const { requests, limits } = container.resources ?? {};
  const podLevel = pod.spec.resources?.limits;
  const cpuLimit = milliOf(limits, 'cpu') || milliOf(podLevel, 'cpu');
  const memoryLimit = bytesOf(limits, 'memory') || bytesOf(podLevel, 'memory');
  const base = linuxResources(
    {
      cpuRequest: requests?.cpu === undefined ? undefined : milliOf(requests, 'cpu'),
      cpuLimit,
      memoryLimit,
      unlimited: facts.placement.exclusiveCpus?.(container.name) ?? false,
    },
    facts,
  );
  const resources: LinuxResources = {
    ...base,
    ...facts.placement.pinning?.(container.name),
    oomScoreAdj: oomScore(pod, container, facts.node.memoryCapacityBytes),
    hugepageLimits: hugepageLimits(pod, container, facts.node.hugePageSizes),
    ...swap(pod, container, { base, memoryLimit, facts }),
  };
  const { memoryQos } = facts.settings;
  if (memoryQos === undefined) return resources;
  const { memoryForPodsBytes = 0 } = facts.node;
  const files = memoryQosConfig(pod, container, { memoryQos, memoryForPodsBytes });
  return { ...resources, unified: { ...resources.unified, ...files } };
}

/**
 * Builds the resources of the whole sandbox, for runtimes that size a virtual machine by them (upstream:
 * kuberuntime_sandbox_linux.go).
 */
export function sandboxResources(
  pod: Pod,
  facts: ResourceFacts,
): { resources: LinuxResources; overhead: LinuxResources } {
  const requests = podRequests(pod, { excludeOverhead: true });
  const limits = podLimits(pod, { excludeOverhead: true });
  const overhead = pod.spec.overhead;
  return {
    resources: linuxResources(
      {
        cpuRequest: requests.cpu === undefined ? undefined : milliOf(requests, 'cpu'),
        cpuLimit: milliOf(limits, 'cpu'),
        memoryLimit: bytesOf(limits, 'memory'),
        unlimited: facts.placement.exclusiveCpus?.(undefined) ?? false,
      },
      facts,
    ),
    overhead:
      overhead === undefined
        ? {}
        : linuxResources(
            {
              cpuRequest: milliOf(overhead, 'cpu'),
              cpuLimit: milliOf(overhead, 'cpu'),
              memoryLimit: bytesOf(overhead, 'memory'),
              unlimited: false,
            },
            facts,
          ),
  };
}

function linuxResources(
  asked: { cpuRequest: number | undefined; cpuLimit: number; memoryLimit: number; unlimited: boolean },
  { settings, node }: ResourceFacts,
): LinuxResources {
  const periodUs = settings.cpuCfsQuotaPeriodUs;
  const wholeContainerOom = node.cgroupVersion === 2 && settings.singleProcessOomKill !== true;
  return {
    // Without a request, the limit is used as the request.
    cpuShares: sharesOfMilliCpu(asked.cpuRequest ?? asked.cpuLimit),
    ...(asked.memoryLimit === 0 ? {} : { memoryLimitBytes: asked.memoryLimit }),
    ...(settings.cpuCfsQuota
      ? { cpuPeriod: periodUs, cpuQuota: asked.unlimited ? -1 : quotaOfMilliCpu(asked.cpuLimit, periodUs) }
      : {}),
    ...(wholeContainerOom ? { unified: { 'memory.oom.group': '1' } } : {}),
  };
}

/**
 * Computes the OOM score, which decides what is killed first when memory runs out (upstream: qos/policy.go
 * GetContainerOOMScoreAdjust).
 */
export function oomScore(pod: Pod, container: AnyContainer, capacityBytes: number): number {
  if (isNodeCriticalPod(pod)) return GUARANTEED_OOM_SCORE;
  const qos = podQos(pod);
  if (qos === 'Guaranteed') return GUARANTEED_OOM_SCORE;
  if (qos === 'BestEffort') return BEST_EFFORT_OOM_SCORE;
  const spare = spareMemoryPerContainer(pod);
  const score = (requestBytes: number): number => 1000 - Math.floor((1000 * (requestBytes + spare)) / capacityBytes);
  let adjust = score(bytesOf(container.resources?.requests, 'memory'));
  if (isSidecar(pod, container)) {
    // A sidecar must not die before the containers it serves.
    const least = Math.min(...pod.spec.containers.map((regular) => bytesOf(regular.resources?.requests, 'memory')));
    adjust = Math.min(adjust, score(least));
  }
  if (adjust < 1000 + GUARANTEED_OOM_SCORE) return 1000 + GUARANTEED_OOM_SCORE;
  return adjust === BEST_EFFORT_OOM_SCORE ? BEST_EFFORT_OOM_SCORE - 1 : adjust;
}

/** Returns each container's equal share of the memory that is requested for the pod but for no container. */
function spareMemoryPerContainer(pod: Pod): number {
  const podBytes = bytesOf(pod.spec.resources?.requests, 'memory');
  if (podBytes === 0) return 0;
  const count = pod.spec.containers.length + (pod.spec.initContainers?.length ?? 0);
  return Math.trunc((podBytes - bytesOf(aggregateContainers(pod, 'requests'), 'memory')) / count);
}

function isSidecar(pod: Pod, container: AnyContainer): boolean {
  return isRestartableInit(container) && (pod.spec.initContainers ?? []).some((init) => init.name === container.name);
}

/** Returns a limit for each page size of the kernel; 0 for sizes that the container does not limit. */
function hugepageLimits(
  pod: Pod,
  container: AnyContainer,
  sizes: readonly string[],
): { pageSize: string; limitBytes: number }[] {
  const asked = new Map<string, number>();
  for (const list of [pod.spec.resources?.limits, container.resources?.limits]) {
    for (const [name, amount] of Object.entries(list ?? {})) {
      if (isHugePageResource(name))
        asked.set(pageSizeName(quantityValue(name.slice('hugepages-'.length))), quantityValue(amount));
    }
  }
  return sizes.map((pageSize) => ({ pageSize, limitBytes: asked.get(pageSize) ?? 0 }));
}

/** Returns the kernel's name of a page size: 2097152 is `2MB`. */
function pageSizeName(sizeBytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];
  let [size, unit] = [sizeBytes, 0];
  while (size >= 1024 && unit < units.length - 1) [size, unit] = [size / 1024, unit + 1];
  return `${size}${units[unit]}`;
}

/**
 * Returns the swap limit. It is 0 unless the node allows swap and the container may use it (upstream:
 * GetContainerSwapBehavior, KEP 2400).
 */
function swap(
  pod: Pod,
  container: AnyContainer,
  context: { base: LinuxResources; memoryLimit: number; facts: ResourceFacts },
): LinuxResources {
  const { node, settings } = context.facts;
  if (!node.swapControl) return {};
  if (node.cgroupVersion === 1) return context.memoryLimit === 0 ? {} : { memorySwapLimitBytes: context.memoryLimit };
  const request = bytesOf(container.resources?.requests, 'memory');
  const allowed =
    mayUseSwap(pod, container, { ...node, swapBehavior: settings.swapBehavior }) && request <= node.memoryCapacityBytes;
  const swapBytes = allowed ? Math.floor((request / node.memoryCapacityBytes) * node.swapCapacityBytes) : 0;
  return { unified: { ...context.base.unified, 'memory.swap.max': String(swapBytes) } };
}
