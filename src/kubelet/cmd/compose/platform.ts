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

/** The interfaces to everything outside the agent. Production and simulation differ only in their implementations. */
export interface Platform {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** The tracer; absent if nothing is traced. */
  readonly tracer?: Tracer | undefined;
  /** The API; absent on a standalone node, whose pods and objects come only from manifests. */
  readonly cluster?: ClusterApi;
  readonly runtime: ContainerRuntime;
  /** Whether the runtime lacks a call that upstream will require; default false. */
  readonly isRuntimeOutdated?: boolean;
  readonly images: ImageRuntime;
  /** The event sources in the order of preference. */
  readonly eventSources: readonly RuntimeEventSource[];
  readonly files: HostFiles;
  /** File access for paths from users, where a call may hang on a dead mount. */
  readonly guardedFiles: HostFiles;
  readonly mounts: Mounts;
  readonly cgroups: Cgroups;
  readonly dial: NetDial;
  /** The login manager; absent if nothing announces a shutdown of the machine. */
  readonly loginManager?: LoginManager;
  /** Reads the load of the node's processors. */
  readonly nodeLoad: ReadNodeLoad;
  readonly processes: Processes;
  /** Access to kernel settings and processes outside of pods; absent if the agent leaves them alone. */
  readonly nodeSettings?: { tunables: KernelTunables; processGroups: ProcessGroups; ownProcess: OwnProcess };
  /** The kernel log; absent if kills for lack of memory are not watched. */
  readonly kernelLog?: KernelLog;
  readonly csiDrivers: CsiDrivers;
  /** Connects to the sockets of plugins that register. */
  readonly pluginDial: PluginDial;
  /** The client of device plugins; absent if the node supports none. */
  readonly devicePlugins?: DevicePlugins;
  /** The client of DRA drivers; absent if the node supports none. */
  readonly draDrivers?: DraDrivers;
  /** The server of the Pod Resources API; absent if it is not served. */
  readonly podResources?: PodResourcesServer;
  /** The server of the Pods API; absent if it is not served. */
  readonly podsApi?: PodsApiServer;
  readonly logFiles: LogFiles;
  readonly disk: { diskUsage(path: string): Promise<{ capacityBytes: number; availableBytes: number }> };
  readonly machine: MachineFacts;
  /** Reads the topology; absent if the machine has one NUMA node with the CPUs and the memory of `machine`. */
  readonly topology?: ReadMachineTopology;
  /** The machine's network; absent if the node has the addresses of `machine`. */
  readonly network?: NodeNetwork;
  /** Notifications for metrics; absent if they are not counted. */
  readonly observe?: {
    /** Calls `listener` at the end of each call to the runtime. */
    runtimeCalls: (listener: (call: CriCallRecord) => void) => void;
    ownUsage: () => ProcessUsage;
    certificates?: CertificateFigures;
  };
  /** The sources of statistics; absent if nothing is measured, and then their endpoints do not exist. */
  readonly stats?: NodeStatsSources;
  /** The scheme of container ids in statuses, such as `containerd`. */
  readonly runtimeName: string;
}
