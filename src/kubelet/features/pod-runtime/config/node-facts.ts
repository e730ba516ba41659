import type { ResourceList } from '../../../../api/core/resource-requirements.ts';
import type { MemoryQos } from '../../../model/memory-qos.ts';
import type { LinuxResources, NamespaceOptions } from '../../../ports/runtime.ts';

/** Facts about the node that shape containers. Read once at the start, or when the node changes. */
export interface NodeFacts {
  nodeName: string;
  /** Primary first. */
  hostIps: readonly string[];
  memoryCapacityBytes: number;
  swapCapacityBytes: number;
  /** Memory less what is reserved for the system and Kubernetes; 0 when unknown. */
  memoryForPodsBytes?: number;
  /** What the downward API reports as limit for containers without one. */
  allocatable: ResourceList;
  cgroupVersion: 1 | 2;
  /** The kernel can limit swap per cgroup. */
  swapControl: boolean;
  /** As the kernel names them: `2MB`, `1GB`. */
  hugePageSizes: readonly string[];
  /** Existing `/sys/devices/system/cpu/cpu<n>/thermal_throttle` directories, which are masked. */
  thermalThrottlePaths: readonly string[];
  selinuxEnabled: boolean;
  /** Runtime handlers by name: what they can do. */
  handlers: ReadonlyMap<string, { recursiveReadOnlyMounts: boolean; userNamespaces: boolean }>;
}

/** The part of the configuration that shapes containers; defaults in kubelet-behaviour.md 4a. */
export interface ContainerSettings {
  rootDir: string;
  podLogsDir: string;
  clusterDomain: string;
  clusterDns: readonly string[];
  seccompDefault: boolean;
  cpuCfsQuota: boolean;
  cpuCfsQuotaPeriodUs: number;
  /** undefined: one process on cgroup v1, all of the container on v2. */
  singleProcessOomKill: boolean | undefined;
  swapBehavior: '' | 'NoSwap' | 'LimitedSwap';
  /** Feature gate MemoryQoS on cgroup v2; undefined where it is off. */
  memoryQos?: MemoryQos | undefined;
  /** Feature gate ContainerStopSignals; without it the image alone says how a container is stopped. */
  stopSignals?: boolean;
}

/** What other features decide about one pod before its sandbox is created. */
export interface PodPlacement {
  /** CRI's cgroup_parent of the pod. */
  cgroupParent: string;
  /** The cgroup existed before, so it may hold the pod to an earlier allocation. */
  groupExisted?: boolean;
  /** Supplemental groups that come with its persistent volumes. */
  extraGroups?: readonly number[];
  /** The mapping of its user namespace; needed for `hostUsers: false`. */
  userns?: NamespaceOptions['userns'];
  /** It has exclusive CPUs, so no CFS quota. */
  exclusiveCpus?: (container: string | undefined) => boolean;
  /** Cpusets and memory nodes from the resource managers. */
  pinning?: (container: string) => Pick<LinuxResources, 'cpusetCpus' | 'cpusetMems'>;
}
