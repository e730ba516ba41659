import type { ProcessUsage } from '../../ports/process-usage.ts';
import type { Clock } from '../../../base/clock.ts';
import type { CriCallRecord } from '../../../cri/cri-client.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import type { Tracer } from '../../../base/tracer.ts';
import type { Cgroups } from '../../ports/cgroups.ts';
import type { ClusterApi } from '../../ports/cluster-api.ts';
import type { CsiDrivers } from '../../ports/csi-drivers.ts';
import type { DraDrivers } from '../../ports/dra-drivers.ts';
import type { DevicePlugins } from '../../ports/device-plugins.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { ImageRuntime } from '../../ports/images.ts';
import type { KernelLog } from '../../ports/kernel-log.ts';
import type { LogFiles } from '../../ports/log-files.ts';
import type { LoginManager } from '../../ports/login-manager.ts';
import type { MachineFacts } from '../../ports/machine-facts.ts';
import type { ReadMachineTopology } from '../../ports/machine-topology.ts';
import type { Mounts } from '../../ports/mounts.ts';
import type { NetDial } from '../../ports/net-dial.ts';
import type { ReadNodeLoad } from '../../ports/node-load.ts';
import type { KernelTunables, OwnProcess, ProcessGroups } from '../../ports/node-settings.ts';
import type { NodeNetwork } from '../../ports/node-network.ts';
import type { PluginDial } from '../../ports/plugin-dial.ts';
import type { Processes } from '../../ports/processes.ts';
import type { PodResourcesServer } from '../../ports/pod-resources.ts';
import type { PodsApiServer } from '../../ports/pods-api.ts';
import type { ContainerRuntime, RuntimeEventSource } from '../../ports/runtime.ts';
import type { NodeStatsSources } from '../../ports/stats.ts';
import type { CertificateFigures } from '../../features/metrics/certificate-figures.ts';

/** Everything outside the agent. Production and simulation differ only in this. */
export interface Platform {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Absent: nothing is traced. */
  readonly tracer?: Tracer | undefined;
  /** Absent on a standalone node, whose pods and objects come only from manifests. */
  readonly cluster?: ClusterApi;
  readonly runtime: ContainerRuntime;
  /** The runtime lacks a call that upstream will require. Absent: it has all of them. */
  readonly isRuntimeOutdated?: boolean;
  readonly images: ImageRuntime;
  /** In order of preference. */
  readonly eventSources: readonly RuntimeEventSource[];
  readonly files: HostFiles;
  /** The same for paths that others choose, where a call may hang on a dead mount. */
  readonly guardedFiles: HostFiles;
  readonly mounts: Mounts;
  readonly cgroups: Cgroups;
  readonly dial: NetDial;
  /** Absent: nothing announces a shutdown of the machine. */
  readonly loginManager?: LoginManager;
  /** How busy the node's processors are. */
  readonly nodeLoad: ReadNodeLoad;
  readonly processes: Processes;
  /** Absent: the kernel's settings, and processes outside of pods, are left alone. */
  readonly nodeSettings?: { tunables: KernelTunables; processGroups: ProcessGroups; ownProcess: OwnProcess };
  /** Absent: kills for lack of memory are not watched. */
  readonly kernelLog?: KernelLog;
  readonly csiDrivers: CsiDrivers;
  /** Connects to the sockets of plugins that register. */
  readonly pluginDial: PluginDial;
  /** Absent: the node has no devices of plugins. */
  readonly devicePlugins?: DevicePlugins;
  /** Absent: the node has no DRA drivers. */
  readonly draDrivers?: DraDrivers;
  /** Absent: the Pod Resources API is not served. */
  readonly podResources?: PodResourcesServer;
  /** Absent: the Pods API is not served. */
  readonly podsApi?: PodsApiServer;
  readonly logFiles: LogFiles;
  readonly disk: { diskUsage(path: string): Promise<{ capacityBytes: number; availableBytes: number }> };
  readonly machine: MachineFacts;
  /** Absent: the machine has one NUMA node with the CPUs and the memory of `machine`. */
  readonly topology?: ReadMachineTopology;
  /** Absent: the node has the addresses of `machine`. */
  readonly network?: NodeNetwork;
  /** What the agent does and uses, for metrics. Absent: it is not counted. */
  readonly observe?: {
    /** Calls `listener` at the end of each call to the runtime. */
    runtimeCalls: (listener: (call: CriCallRecord) => void) => void;
    ownUsage: () => ProcessUsage;
    certificates?: CertificateFigures;
  };
  /** Absent: nothing is measured, and there are no endpoints of statistics. */
  readonly stats?: NodeStatsSources;
  /** `containerd`: the scheme of container ids in statuses. */
  readonly runtimeName: string;
}
