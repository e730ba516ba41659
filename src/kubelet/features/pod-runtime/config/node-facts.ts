import type { ResourceList } from '../../../../api/core/resource-requirements.ts';
import type { MemoryQos } from '../../../model/memory-qos.ts';
import type { LinuxResources, NamespaceOptions } from '../../../ports/runtime.ts';

/** Facts about the node that shape containers. Read once at the start, or when the node changes. */
export interface NodeFacts {
  readonly nodeName: string;
  /** Primary first. */
  readonly hostIps: readonly string[];
  readonly memoryCapacityBytes: number;
  readonly swapCapacityBytes: number;
  /** Memory less what is reserved for the system and Kubernetes; 0 when unknown. */
  readonly memoryForPodsBytes?: number;
  /** What the downward API reports as limit for containers without one. */
  readonly allocatable: ResourceList;
  readonly cgroupVersion: 1 | 2;
  /** The kernel can limit swap per cgroup. */
  readonly swapControl: boolean;
  /** As the kernel names them: `2MB`, `1GB`. */
  readonly hugePageSizes: readonly string[];
  /** Existing `/sys/devices/system/cpu/cpu<n>/thermal_throttle` directories, which are masked. */
  readonly thermalThrottlePaths: readonly string[];
  readonly selinuxEnabled: boolean;
  /** Runtime handlers by name: what they can do. */
  readonly handlers: ReadonlyMap<string, { recursiveReadOnlyMounts: boolean; userNamespaces: boolean }>;
}

/** The part of the configuration that shapes containers; defaults in kubelet-behaviour.md 4a. */
export interface ContainerSettings {
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly clusterDomain: string;
  readonly clusterDns: readonly string[];
  readonly seccompDefault: boolean;
  readonly cpuCfsQuota: boolean;
  readonly cpuCfsQuotaPeriodUs: number;
  /** undefined: one process on cgroup v1, all of the container on v2. */
  readonly singleProcessOomKill: boolean | undefined;
  readonly swapBehavior: '' | 'NoSwap' | 'LimitedSwap';
  /** Feature gate MemoryQoS on cgroup v2; undefined where it is off. */
  readonly memoryQos?: MemoryQos | undefined;
  /** Feature gate ContainerStopSignals; without it the image alone says how a container is stopped. */
  readonly stopSignals?: boolean;
}

/** What other features decide about one pod before its sandbox is created. */
export interface PodPlacement {
  /** CRI's cgroup_parent of the pod. */
  readonly cgroupParent: string;
  /** The cgroup existed before, so it may hold the pod to an earlier allocation. */
  readonly groupExisted?: boolean;
  /** Supplemental groups that come with its persistent volumes. */
  readonly extraGroups?: readonly number[];
  /** The mapping of its user namespace; needed for `hostUsers: false`. */
  readonly userns?: NamespaceOptions['userns'];
  /** It has exclusive CPUs, so no CFS quota. */
  readonly exclusiveCpus?: (container: string | undefined) => boolean;
  /** Cpusets and memory nodes from the resource managers. */
  readonly pinning?: (container: string) => Pick<LinuxResources, 'cpusetCpus' | 'cpusetMems'>;
}
