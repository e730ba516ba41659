import type { ResourceList } from '../../../../api/core/resource-requirements.ts';
import type { MemoryQos } from '../../../model/memory-qos.ts';
import type { LinuxResources, NamespaceOptions } from '../../../ports/runtime.ts';

/** The facts about the node that affect containers. They are read at the start, and when the node changes. */
export interface NodeFacts {
  readonly nodeName: string;
  /** The host's addresses, the primary one first. */
  readonly hostIps: readonly string[];
  readonly memoryCapacityBytes: number;
  readonly swapCapacityBytes: number;
  /** The memory minus what is reserved for the system and Kubernetes; 0 when unknown. */
  readonly memoryForPodsBytes?: number;
  /** The limits that the downward API reports for containers without a limit. */
  readonly allocatable: ResourceList;
  readonly cgroupVersion: 1 | 2;
  /** Whether the kernel can limit swap per cgroup. */
  readonly swapControl: boolean;
  /** The page sizes as the kernel names them: `2MB`, `1GB`. */
  readonly hugePageSizes: readonly string[];
  /** The existing `/sys/devices/system/cpu/cpu<n>/thermal_throttle` directories, which are masked. */
  readonly thermalThrottlePaths: readonly string[];
  readonly selinuxEnabled: boolean;
  /** The features of the runtime handlers, by name. */
  readonly handlers: ReadonlyMap<string, { recursiveReadOnlyMounts: boolean; userNamespaces: boolean }>;
}

/** The part of the configuration that affects containers. */
export interface ContainerSettings {
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly clusterDomain: string;
  readonly clusterDns: readonly string[];
  readonly seccompDefault: boolean;
  readonly cpuCfsQuota: boolean;
  readonly cpuCfsQuotaPeriodUs: number;
  /**
   * Whether the OOM killer kills a single process. Undefined means one process on cgroup v1, and the whole container on
   * v2.
   */
  readonly singleProcessOomKill: boolean | undefined;
  readonly swapBehavior: '' | 'NoSwap' | 'LimitedSwap';
  /** The settings of MemoryQoS on cgroup v2; undefined while the feature gate is off. */
  readonly memoryQos?: MemoryQos | undefined;
  /**
   * Whether containers may set a stop signal (feature gate ContainerStopSignals). Otherwise only the image defines it.
   */
  readonly stopSignals?: boolean;
}

/** The decisions of other features about a pod, made before its sandbox is created. */
export interface PodPlacement {
  /** The cgroup of the pod, for CRI's cgroup_parent. */
  readonly cgroupParent: string;
  /** Whether the cgroup existed before. It may then still have the limits of an earlier allocation. */
  readonly groupExisted?: boolean;
  /** The supplemental groups of the pod's persistent volumes. */
  readonly extraGroups?: readonly number[];
  /** The mapping of the pod's user namespace, which `hostUsers: false` requires. */
  readonly userns?: NamespaceOptions['userns'];
  /** Whether a container has exclusive CPUs, so that it gets no CFS quota. */
  readonly exclusiveCpus?: (container: string | undefined) => boolean;
  /** The CPU sets and memory nodes from the resource managers. */
  readonly pinning?: (container: string) => Pick<LinuxResources, 'cpusetCpus' | 'cpusetMems'>;
}
