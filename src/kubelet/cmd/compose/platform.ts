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
import type { ContainerRuntime, RuntimeEventSource } from '../../ports/runtime.ts';
import type { NodeStatsSources } from '../../ports/stats.ts';
import type { CertificateFigures } from '../../features/metrics/certificate-figures.ts';

/** Everything outside the agent. Production and simulation differ only in this. */
export interface Platform {
  clock: Clock;
  random: Random;
  log: Logger;
  /** Absent: nothing is traced. */
  tracer?: Tracer | undefined;
  /** Absent on a standalone node, whose pods and objects come only from manifests. */
  cluster?: ClusterApi;
  runtime: ContainerRuntime;
  images: ImageRuntime;
  /** In order of preference. */
  eventSources: readonly RuntimeEventSource[];
  files: HostFiles;
  /** The same for paths that others choose, where a call may hang on a dead mount. */
  guardedFiles: HostFiles;
  mounts: Mounts;
  cgroups: Cgroups;
  dial: NetDial;
  /** Absent: nothing announces a shutdown of the machine. */
  loginManager?: LoginManager;
  /** How busy the node's processors are. */
  nodeLoad: ReadNodeLoad;
  processes: Processes;
  /** Absent: the kernel's settings, and processes outside of pods, are left alone. */
  nodeSettings?: { tunables: KernelTunables; processGroups: ProcessGroups; ownProcess: OwnProcess };
  /** Absent: kills for lack of memory are not watched. */
  kernelLog?: KernelLog;
  csiDrivers: CsiDrivers;
  /** Connects to the sockets of plugins that register. */
  pluginDial: PluginDial;
  /** Absent: the node has no devices of plugins. */
  devicePlugins?: DevicePlugins;
  /** Absent: the node has no DRA drivers. */
  draDrivers?: DraDrivers;
  /** Absent: the Pod Resources API is not served. */
  podResources?: PodResourcesServer;
  logFiles: LogFiles;
  disk: { diskUsage(path: string): Promise<{ capacityBytes: number; availableBytes: number }> };
  machine: MachineFacts;
  /** Absent: the machine has one NUMA node with the CPUs and the memory of `machine`. */
  topology?: ReadMachineTopology;
  /** Absent: the node has the addresses of `machine`. */
  network?: NodeNetwork;
  /** What the agent does and uses, for metrics. Absent: it is not counted. */
  observe?: {
    /** Calls `listener` at the end of each call to the runtime. */
    runtimeCalls: (listener: (call: CriCallRecord) => void) => void;
    ownUsage: () => ProcessUsage;
    certificates?: CertificateFigures;
  };
  /** Absent: nothing is measured, and there are no endpoints of statistics. */
  stats?: NodeStatsSources;
  /** `containerd`: the scheme of container ids in statuses. */
  runtimeName: string;
}
