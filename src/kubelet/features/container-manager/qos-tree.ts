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
  /** `/` or empty for the root. */
  readonly cgroupRoot: string;
  readonly cpuCFSQuota: boolean;
  readonly cpuCFSQuotaPeriodUs: number;
  /** -1 or 0 for none. */
  readonly podPidsLimit: number;
  /** Page sizes of this kernel; a pod gets none of a size it did not ask for. */
  readonly hugePageSizesBytes: readonly number[];
  /** Undefined where MemoryQoS is off. */
  readonly memoryQos?: MemoryQos | undefined;
}

/** Facts: upstream cm/helpers_linux.go. */
const MIN_SHARES = 2;
const POD_PREFIX = 'pod';

/** The class cgroups. Guaranteed pods lie directly below kubepods. */
export interface QosGroups {
  readonly guaranteed: string;
  readonly burstable: string;
  readonly bestEffort: string;
}

/** undefined when pods have no cgroups of their own (cgroupsPerQOS false). */
export function qosGroups(config: Pick<QosTreeConfig, 'cgroupsPerQOS' | 'cgroupRoot'>): QosGroups | undefined {
  if (!config.cgroupsPerQOS) return undefined;
  const guaranteed = `/${[...config.cgroupRoot.split('/').filter((part) => part !== ''), 'kubepods'].join('/')}`;
  return { guaranteed, burstable: `${guaranteed}/burstable`, bestEffort: `${guaranteed}/besteffort` };
}

/** Throws Invalid for a uid that would lead out of its cgroup (a manifest may name any uid). */
export function podCgroupName(groups: QosGroups, qos: PodQOSClass, uid: PodUid): string {
  if (uid === '' || uid.includes('/') || uid.includes('_') || uid.includes('..'))
    throw new KubeletError('Invalid', `pod uid ${JSON.stringify(uid)} cannot name a cgroup`, { op: 'name cgroup' });
  const parent = qos === 'Guaranteed' ? groups.guaranteed : qos === 'Burstable' ? groups.burstable : groups.bestEffort;
  return `${parent}/${POD_PREFIX}${uid}`;
}

/** undefined for what is not a pod's cgroup, such as `burstable`. */
export function podUidOfCgroup(child: string): PodUid | undefined {
  return child.startsWith(POD_PREFIX) && child.length > POD_PREFIX.length
    ? podUid(child.slice(POD_PREFIX.length))
    : undefined;
}

/**
 * The limits of the pod's own cgroup (upstream: ResourceConfigForPod). A burstable pod is limited only if every
 * container is, or the pod as a whole.
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

/** BestEffort is always 2; Burstable is the sum of what its pods request, so that classes share CPU by requests. */
export function computeQosShares(pods: readonly Pod[]): { burstable: number; bestEffort: number } {
  let milliCpu = 0;
  for (const pod of pods) if (podQos(pod) === 'Burstable') milliCpu += milliOf(podRequests(pod), 'cpu');
  return { burstable: sharesOfMilliCpu(milliCpu), bestEffort: MIN_SHARES };
}

/**
 * Whether the pod's own cgroup gets this limit. Upstream adds up an init container with the sidecars before it, so that
 * one without a limit counts as limited behind a sidecar that has one.
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
