import type { Pod } from '../../../api/core/pod.ts';
import type { ResourceList } from '../../../api/core/resource-requirements.ts';
import { isCriticalPod, isNodeCriticalPod, isRestartableInit } from '../../../api/pod.ts';
import type { AnyContainer } from '../../../api/pod.ts';
import { podQos } from '../../../api/qos.ts';
import { quantityMilliValue, quantityValue } from '../../../api/quantity.ts';
import { aggregateContainers, isHugePageResource, podLimits, podRequests } from '../../../api/resources.ts';
import type { LinuxResources } from '../../ports/runtime.ts';
import type { ContainerSettings, NodeFacts, PodPlacement } from './node-facts.ts';

const minShares = 2;
const maxShares = 262_144;
const minQuotaUs = 1000;
const guaranteedOomScore = -997;
const bestEffortOomScore = 1000;

export interface ResourceFacts {
  settings: Pick<ContainerSettings, 'cpuCfsQuota' | 'cpuCfsQuotaPeriodUs' | 'singleProcessOomKill' | 'swapBehavior'>;
  node: Pick<NodeFacts, 'memoryCapacityBytes' | 'swapCapacityBytes' | 'cgroupVersion' | 'swapControl' | 'hugePageSizes'>;
  placement: Pick<PodPlacement, 'exclusiveCpus' | 'pinning'>;
}

/** CFS shares of thousandths of a CPU (upstream: cm/helpers_linux.go MilliCPUToShares). */
export function cpuShares(milli: number): number {
  return milli === 0 ? minShares : Math.min(maxShares, Math.max(minShares, Math.floor((milli * 1024) / 1000)));
}

/** CFS quota in microseconds per period; 0 means no limit (upstream: MilliCPUToQuota). */
export function cpuQuotaUs(milli: number, periodUs: number): number {
  return milli === 0 ? 0 : Math.max(minQuotaUs, Math.floor((milli * periodUs) / 1000));
}

/** CRI's Linux resources of a container (upstream: kuberuntime_container_linux.go generateLinuxContainerResources). */
export function containerResources(pod: Pod, container: AnyContainer, facts: ResourceFacts): LinuxResources {
  const { requests, limits } = container.resources ?? {};
  const podLevel = pod.spec.resources?.limits;
  const cpuLimit = milli(limits, 'cpu') || milli(podLevel, 'cpu');
  const memoryLimit = bytes(limits, 'memory') || bytes(podLevel, 'memory');
  const base = linuxResources({ cpuRequest: requests?.cpu === undefined ? undefined : milli(requests, 'cpu'), cpuLimit, memoryLimit, unlimited: facts.placement.exclusiveCpus?.(container.name) ?? false }, facts);
  return {
    ...base,
    ...facts.placement.pinning?.(container.name),
    oomScoreAdj: oomScore(pod, container, facts.node.memoryCapacityBytes),
    hugepageLimits: hugepageLimits(pod, container, facts.node.hugePageSizes),
    ...swap(pod, container, { base, memoryLimit, facts }),
  };
}

/** What the sandbox as a whole asks for, told to runtimes that size a virtual machine by it (upstream: kuberuntime_sandbox_linux.go). */
export function sandboxResources(pod: Pod, facts: ResourceFacts): { resources: LinuxResources; overhead: LinuxResources } {
  const requests = podRequests(pod, { excludeOverhead: true });
  const limits = podLimits(pod, { excludeOverhead: true });
  const overhead = pod.spec.overhead;
  return {
    resources: linuxResources(
      { cpuRequest: requests.cpu === undefined ? undefined : milli(requests, 'cpu'), cpuLimit: milli(limits, 'cpu'), memoryLimit: bytes(limits, 'memory'), unlimited: facts.placement.exclusiveCpus?.(undefined) ?? false },
      facts,
    ),
    overhead: overhead === undefined ? {} : linuxResources({ cpuRequest: milli(overhead, 'cpu'), cpuLimit: milli(overhead, 'cpu'), memoryLimit: bytes(overhead, 'memory'), unlimited: false }, facts),
  };
}

function linuxResources(asked: { cpuRequest: number | undefined; cpuLimit: number; memoryLimit: number; unlimited: boolean }, { settings, node }: ResourceFacts): LinuxResources {
  const periodUs = settings.cpuCfsQuotaPeriodUs;
  const wholeContainerOom = node.cgroupVersion === 2 && settings.singleProcessOomKill !== true;
  return {
    // Without a request the limit is the request.
    cpuShares: cpuShares(asked.cpuRequest ?? asked.cpuLimit),
    ...(asked.memoryLimit === 0 ? {} : { memoryLimitBytes: asked.memoryLimit }),
    ...(settings.cpuCfsQuota ? { cpuPeriod: periodUs, cpuQuota: asked.unlimited ? -1 : cpuQuotaUs(asked.cpuLimit, periodUs) } : {}),
    ...(wholeContainerOom ? { unified: { 'memory.oom.group': '1' } } : {}),
  };
}

/** Who is killed first when memory runs out (upstream: qos/policy.go GetContainerOOMScoreAdjust). */
export function oomScore(pod: Pod, container: AnyContainer, capacityBytes: number): number {
  if (isNodeCriticalPod(pod)) return guaranteedOomScore;
  const qos = podQos(pod);
  if (qos === 'Guaranteed') return guaranteedOomScore;
  if (qos === 'BestEffort') return bestEffortOomScore;
  const spare = spareMemoryPerContainer(pod);
  const score = (requestBytes: number): number => 1000 - Math.floor((1000 * (requestBytes + spare)) / capacityBytes);
  let adjust = score(bytes(container.resources?.requests, 'memory'));
  if (isSidecar(pod, container)) {
    // A sidecar must not die before the containers it serves.
    const least = Math.min(...pod.spec.containers.map((regular) => bytes(regular.resources?.requests, 'memory')));
    adjust = Math.min(adjust, score(least));
  }
  if (adjust < 1000 + guaranteedOomScore) return 1000 + guaranteedOomScore;
  return adjust === bestEffortOomScore ? bestEffortOomScore - 1 : adjust;
}

/** Memory requested for the pod and not for any container, shared out evenly. */
function spareMemoryPerContainer(pod: Pod): number {
  const podBytes = bytes(pod.spec.resources?.requests, 'memory');
  if (podBytes === 0) return 0;
  const count = pod.spec.containers.length + (pod.spec.initContainers?.length ?? 0);
  return Math.trunc((podBytes - bytes(aggregateContainers(pod, 'requests'), 'memory')) / count);
}

function isSidecar(pod: Pod, container: AnyContainer): boolean {
  return isRestartableInit(container) && (pod.spec.initContainers ?? []).some((init) => init.name === container.name);
}

/** A limit for each size the kernel knows; 0 for those the container does not name. */
function hugepageLimits(pod: Pod, container: AnyContainer, sizes: readonly string[]): { pageSize: string; limitBytes: number }[] {
  const asked = new Map<string, number>();
  for (const list of [pod.spec.resources?.limits, container.resources?.limits]) {
    for (const [name, amount] of Object.entries(list ?? {})) {
      if (isHugePageResource(name)) asked.set(pageSizeName(quantityValue(name.slice('hugepages-'.length))), quantityValue(amount));
    }
  }
  return sizes.map((pageSize) => ({ pageSize, limitBytes: asked.get(pageSize) ?? 0 }));
}

/** The kernel's name of a page size: 2097152 is `2MB`. */
function pageSizeName(sizeBytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];
  let [size, unit] = [sizeBytes, 0];
  while (size >= 1024 && unit < units.length - 1) [size, unit] = [size / 1024, unit + 1];
  return `${size}${units[unit]}`;
}

/** No swap unless the node allows it and the container may (upstream: GetContainerSwapBehavior, KEP 2400). */
function swap(pod: Pod, container: AnyContainer, context: { base: LinuxResources; memoryLimit: number; facts: ResourceFacts }): LinuxResources {
  const { node, settings } = context.facts;
  if (!node.swapControl) return {};
  if (node.cgroupVersion === 1) return context.memoryLimit === 0 ? {} : { memorySwapLimitBytes: context.memoryLimit };
  const request = bytes(container.resources?.requests, 'memory');
  const limit = bytes(container.resources?.limits, 'memory');
  const allowed = settings.swapBehavior === 'LimitedSwap' && !isCriticalPod(pod) && podQos(pod) === 'Burstable' && (request !== 0 || limit !== 0) && request !== limit && request <= node.memoryCapacityBytes;
  const swapBytes = allowed ? Math.floor((request / node.memoryCapacityBytes) * node.swapCapacityBytes) : 0;
  return { unified: { ...context.base.unified, 'memory.swap.max': String(swapBytes) } };
}

function milli(list: ResourceList | undefined, name: string): number {
  const text = list?.[name];
  return text === undefined ? 0 : quantityMilliValue(text);
}

function bytes(list: ResourceList | undefined, name: string): number {
  const text = list?.[name];
  return text === undefined ? 0 : quantityValue(text);
}
