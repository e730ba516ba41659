import type { Pod } from '../../../api/core/pod.ts';
import type { PodQOSClass } from '../../../api/core/pod-status.ts';
import type { ResourceList } from '../../../api/core/resource-requirements.ts';
import { isRestartableInit } from '../../../api/pod.ts';
import { podQos } from '../../../api/qos.ts';
import { quantityMilliValue, quantityValue } from '../../../api/quantity.ts';
import { isHugePageResource, podLimits, podRequests } from '../../../api/resources.ts';
import { KubeletError } from '../../../base/errors.ts';
import { quotaOfMilliCpu, sharesOfMilliCpu } from '../../model/cpu-units.ts';
import type { MemoryQos } from '../../model/memory-qos.ts';
import { protectedMemory } from '../../model/memory-qos.ts';
import { hugePageFileName } from '../../model/group-limits.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { CgroupLimits } from '../../ports/cgroups.ts';

/** Fields of KubeletConfiguration that shape the tree. */
export interface QosTreeConfig {
  readonly cgroupsPerQOS: boolean;
  /** The root of the tree; `/` or empty for the root of the hierarchy. */
  readonly cgroupRoot: string;
  readonly cpuCFSQuota: boolean;
  readonly cpuCFSQuotaPeriodUs: number;
  /** The limit of processes in a pod; -1 or 0 for none. */
  readonly podPidsLimit: number;
  /** The sizes of huge pages of this kernel, in bytes. A pod gets no pages of a size that it does not request. */
  readonly hugePageSizesBytes: readonly number[];
  /** The settings of MemoryQoS; undefined if the gate is off. */
  readonly memoryQos?: MemoryQos | undefined;
}

/** The constants of upstream's cm/helpers_linux.go. */
const MIN_SHARES = 2;
const POD_PREFIX = 'pod';

/** The class cgroups. Guaranteed pods are directly below kubepods. */
export interface QosGroups {
  readonly guaranteed: string;
  readonly burstable: string;
  readonly bestEffort: string;
}

/**
 * Returns the names of the class cgroups; undefined when pods have no cgroups of their own (cgroupsPerQOS is false).
 */
export function qosGroups(config: Pick<QosTreeConfig, 'cgroupsPerQOS' | 'cgroupRoot'>): QosGroups | undefined {
  if (!config.cgroupsPerQOS) return undefined;
  const guaranteed = `/${[...config.cgroupRoot.split('/').filter((part) => part !== ''), 'kubepods'].join('/')}`;
  return { guaranteed, burstable: `${guaranteed}/burstable`, bestEffort: `${guaranteed}/besteffort` };
}

/**
 * Returns the name of the pod's cgroup. Throws Invalid for a UID that would lead out of its cgroup, because a manifest
 * may contain any UID.
 */
export function podCgroupName(groups: QosGroups, qos: PodQOSClass, uid: PodUid): string {
  if (uid === '' || uid.includes('/') || uid.includes('_') || uid.includes('..'))
    throw new KubeletError('Invalid', `pod uid ${JSON.stringify(uid)} cannot name a cgroup`, { op: 'name cgroup' });
  const parent = qos === 'Guaranteed' ? groups.guaranteed : qos === 'Burstable' ? groups.burstable : groups.bestEffort;
  return `${parent}/${POD_PREFIX}${uid}`;
}

/** Returns the UID of the pod of a cgroup, or undefined if it is not a pod's cgroup, such as `burstable`. */
export function podUidOfCgroup(child: string): PodUid | undefined {
  return child.startsWith(POD_PREFIX) && child.length > POD_PREFIX.length
    ? podUid(child.slice(POD_PREFIX.length))
    : undefined;
}

/**
 * Computes the limits of the pod's own cgroup (upstream: ResourceConfigForPod). A burstable pod is limited only if
 * every container is, or the pod as a whole.
 */
export function computePodLimits(pod: Pod, config: QosTreeConfig): CgroupLimits {
  const requests = podRequests(pod);
  const limits = podLimits(pod);
  const qos = podQos(pod);
  const result: CgroupLimits = {
    cpuShares: qos === 'BestEffort' ? MIN_SHARES : sharesOfMilliCpu(milliOf(requests, 'cpu')),
  };
  if (qos === 'Guaranteed' || (qos === 'Burstable' && isLimited(pod, 'cpu'))) {
    result.cpuQuotaUs = config.cpuCFSQuota ? quotaOfMilliCpu(milliOf(limits, 'cpu'), config.cpuCFSQuotaPeriodUs) : -1;
    result.cpuPeriodUs = config.cpuCFSQuotaPeriodUs;
  }
  if (qos === 'Guaranteed' || (qos === 'Burstable' && isLimited(pod, 'memory')))
    result.memoryBytes = quantityValue(limits['memory'] ?? '0');
  if (config.podPidsLimit > 0) result.pidsMax = config.podPidsLimit;
  if (config.hugePageSizesBytes.length > 0) result.hugetlbBytes = hugetlbLimits(requests, config.hugePageSizesBytes);
  const request = quantityValue(requests['memory'] ?? '0');
  if (config.memoryQos?.reservesRequests === true && request > 0) result.unified = protectedMemory(qos, request);
  return result;
}

/** Computes the CPU shares of the classes. BestEffort always has 2. Burstable has the sum of what its pods request. */
export function computeQosShares(pods: readonly Pod[]): { burstable: number; bestEffort: number } {
  let milliCpu = 0;
  for (const pod of pods) if (podQos(pod) === 'Burstable') milliCpu += milliOf(podRequests(pod), 'cpu');
  return { burstable: sharesOfMilliCpu(milliCpu), bestEffort: MIN_SHARES };
}

/**
 * Whether the pod's own cgroup gets this limit. Upstream adds up an init container and the sidecars before it, so an
 * init container without a limit counts as limited if such a sidecar has one.
 */
function isLimited(pod: Pod, resource: 'cpu' | 'memory'): boolean {
  const limitOf = (list: ResourceList | undefined): number => milliOf(list ?? {}, resource);
  if (limitOf(pod.spec.resources?.limits) > 0) return true;
  if (pod.spec.containers.some((container) => limitOf(container.resources?.limits) === 0)) return false;
  let sidecars = 0;
  for (const container of pod.spec.initContainers ?? []) {
    const limit = limitOf(container.resources?.limits);
    if (limit + sidecars === 0) return false;
    if (isRestartableInit(container)) sidecars += limit;
  }
  return true;
}

function milliOf(list: ResourceList, resource: string): number {
  const text = list[resource];
  return text === undefined ? 0 : quantityMilliValue(text);
}

function hugetlbLimits(requests: ResourceList, sizesBytes: readonly number[]): Record<string, number> {
  const asked = new Map<number, number>();
  for (const [name, amount] of Object.entries(requests)) {
    if (isHugePageResource(name)) asked.set(quantityValue(name.slice('hugepages-'.length)), quantityValue(amount));
  }
  return Object.fromEntries(sizesBytes.map((size) => [hugePageFileName(size), asked.get(size) ?? 0]));
}
