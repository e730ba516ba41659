import type { Pod } from '../../../api/core/pod.ts';
import { podQos } from '../../../api/qos.ts';
import { quantityValue } from '../../../api/quantity.ts';
import { podRequests } from '../../../api/resources.ts';
import type { MemoryQos } from '../../model/memory-qos.ts';
import type { CgroupLimits } from '../../ports/cgroups.ts';
import { computeQosShares } from './qos-tree.ts';

/** Settings of the QoS classes in addition to their CPU shares. */
export interface QosMemoryRules {
  /** The percentage of a class's requests that lower classes cannot use (qosReserved); undefined for none. */
  readonly reservedPercent: number | undefined;
  /** The memory of the node minus the reservations for the system and Kubernetes; 0 if unknown. */
  readonly memoryForPodsBytes: number;
  readonly memoryQos: MemoryQos | undefined;
}

/**
 * The limits of the class cgroups. Guaranteed pods have no class cgroup, so `guaranteed` is for the cgroup of all pods.
 */
export interface QosLimits {
  readonly guaranteed: CgroupLimits;
  readonly burstable: CgroupLimits;
  readonly bestEffort: CgroupLimits;
  /** The memory that the class limits protect, for metrics; undefined without MemoryQoS. */
  readonly protectedBytes: { readonly min: number; readonly low: number } | undefined;
}

/** The minimum that is added to the current usage of a class, in bytes. */
const LEAST_CLASS_BYTES = 4096;

/** Computes the limits of the QoS classes (upstream: qos_container_manager_linux.go UpdateCgroups). */
export function computeQosLimits(pods: readonly Pod[], rules: QosMemoryRules): QosLimits {
  const shares = computeQosShares(pods);
  const requests = rules.reservedPercent === undefined && rules.memoryQos === undefined ? none : memoryRequests(pods);
  const reserve = classMemory(requests, rules);
  const { memoryQos } = rules;
  if (memoryQos === undefined)
    return {
      guaranteed: {},
      burstable: { cpuShares: shares.burstable, ...reserve.burstable },
      bestEffort: { cpuShares: shares.bestEffort, ...reserve.bestEffort },
      protectedBytes: undefined,
    };
  const kept = memoryQos.reservesRequests ? requests : none;
  return {
    // A parent cgroup must protect the sum of what its children protect.
    guaranteed: { unified: { 'memory.min': String(kept.guaranteed + kept.burstable) } },
    burstable: {
      cpuShares: shares.burstable,
      ...reserve.burstable,
      unified: { 'memory.low': String(kept.burstable) },
    },
    bestEffort: { cpuShares: shares.bestEffort, ...reserve.bestEffort },
    protectedBytes: { min: kept.guaranteed, low: kept.burstable },
  };
}

const none = { guaranteed: 0, burstable: 0 };

function memoryRequests(pods: readonly Pod[]): typeof none {
  const sums = { ...none };
  for (const pod of pods) {
    const bytes = quantityValue(podRequests(pod)['memory'] ?? '0');
    const qos = podQos(pod);
    if (qos === 'Guaranteed') sums.guaranteed += bytes;
    else if (qos === 'Burstable') sums.burstable += bytes;
  }
  return sums;
}

/** Computes the memory limit of a class (upstream: setMemoryReserve). */
function classMemory(
  requests: typeof none,
  { reservedPercent, memoryForPodsBytes }: QosMemoryRules,
): { burstable: Pick<CgroupLimits, 'memoryBytes'>; bestEffort: Pick<CgroupLimits, 'memoryBytes'> } {
  if (reservedPercent === undefined || memoryForPodsBytes === 0) return { burstable: {}, bestEffort: {} };
  const share = (bytes: number): number => Math.floor((bytes * reservedPercent) / 100);
  const burstable = memoryForPodsBytes - share(requests.guaranteed);
  const bestEffort = burstable - share(requests.burstable);
  return {
    burstable: { memoryBytes: Math.max(burstable, LEAST_CLASS_BYTES) },
    bestEffort: { memoryBytes: Math.max(bestEffort, LEAST_CLASS_BYTES) },
  };
}
