import type { OwnUsage } from '../../adapters/stats/own-usage.ts';
import type { Clock } from '../../../base/clock.ts';
import type { CriCallRecord } from '../../../cri/cri-client.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import type { LinuxNode } from '../../adapters/linux-node.ts';
import type { Cgroups } from '../../ports/cgroups.ts';
import type { ClusterApi } from '../../ports/cluster-api.ts';
import type { CsiDrivers } from '../../ports/csi-drivers.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { ImageRuntime } from '../../ports/images.ts';
import type { LogFiles } from '../../ports/log-files.ts';
import type { Mounts } from '../../ports/mounts.ts';
import type { NetDial } from '../../ports/net-dial.ts';
import type { ReadNodeLoad } from '../../ports/node-load.ts';
import type { NodeNetwork } from '../../ports/node-network.ts';
import type { PluginDial } from '../../ports/plugin-dial.ts';
import type { Processes } from '../../ports/processes.ts';
import type { ContainerRuntime, RuntimeEventSource } from '../../ports/runtime.ts';
import type { NodeStatsSources } from '../../ports/stats.ts';
import type { CertificateFigures } from './certificate-figures.ts';

/** Facts of the machine, read once at start: what the kernel says, and what this process has from its flags and its place. */
export interface MachineFacts extends Omit<LinuxNode, 'hostname'> {
  nodeName: string;
  /** Size of the file system of the root directory; undefined when it could not be read. */
  rootStorageBytes: number | undefined;
  hugePageSizesBytes: readonly number[];
  /** Where the process was started, and whose home it has: registry credentials may lie there. */
  workingDir: string;
  homeDir: string;
}

/** Everything outside the agent. Production and simulation differ in nothing but this. */
export interface World {
  clock: Clock;
  random: Random;
  log: Logger;
  /** Absent on a node of its own (upstream: standalone mode): pods and objects come from manifests alone. */
  cluster?: ClusterApi;
  runtime: ContainerRuntime;
  images: ImageRuntime;
  /** In order of preference. */
  eventSources: readonly RuntimeEventSource[];
  files: HostFiles;
  /** The same for paths chosen by others, where a call may hang on a dead mount. */
  guardedFiles: HostFiles;
  mounts: Mounts;
  cgroups: Cgroups;
  dial: NetDial;
  /** How busy the node's processors are. */
  nodeLoad: ReadNodeLoad;
  processes: Processes;
  csiDrivers: CsiDrivers;
  /** Sockets of plugins that register. */
  pluginDial: PluginDial;
  logFiles: LogFiles;
  disk: { diskUsage(path: string): Promise<{ capacityBytes: number; availableBytes: number }> };
  machine: MachineFacts;
  /** Absent: the node has the addresses of `machine`. */
  network?: NodeNetwork;
  /** For metrics: what the agent does and takes. Absent: nobody counts it. */
  observe?: {
    /** Calls `listener` at the end of each call to the runtime. */
    runtimeCalls: (listener: (call: CriCallRecord) => void) => void;
    ownUsage: () => OwnUsage;
    certificates?: CertificateFigures;
  };
  /** Absent: nothing is measured, and the endpoints of statistics are not there. */
  stats?: NodeStatsSources;
  /** `containerd`: the scheme of container ids in statuses. */
  runtimeName: string;
}
