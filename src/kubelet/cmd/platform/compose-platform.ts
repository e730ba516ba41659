import { mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { inBackground } from '../../../base/background.ts';
import type { Clock } from '../../../base/clock.ts';
import { systemClock } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import { systemRandom } from '../../../base/random.ts';
import { createCsiDrivers } from '../../adapters/csi/csi-drivers.ts';
import { createPluginDial } from '../../adapters/csi/csi-plugin-dial.ts';
import { createLinuxCgroups, createProcessGroups } from '../../adapters/cgroups/create-cgroups.ts';
import { createDevicePlugins } from '../../adapters/devices/device-plugins.ts';
import { createDraDrivers } from '../../adapters/devices/dra-drivers.ts';
import { createPodResourcesServer } from '../../adapters/devices/pod-resources-server.ts';
import { createPodsApiServer } from '../../adapters/devices/pods-api-server.ts';
import { hugePageSizesBytes } from '../../adapters/cgroups/linux-cgroups-fs.ts';
import { GuardedFiles } from '../../adapters/files/linux-files-guarded.ts';
import { createLogind, logindPlaces } from '../../adapters/logind/logind.ts';
import { diskUsage } from '../../adapters/files/linux-disk-usage.ts';
import { linuxLogFiles } from '../../adapters/files/linux-log-files.ts';
import { linuxProcesses } from '../../adapters/process/linux-processes.ts';
import { LinuxFiles } from '../../adapters/files/linux-files.ts';
import { LinuxMounts } from '../../adapters/files/linux-mounts.ts';
import { LinuxKernelLog } from '../../adapters/linux-kernel-log.ts';
import { readMachineTopology } from '../../adapters/linux-machine-topology.ts';
import { readLinuxNode } from '../../adapters/linux-node.ts';
import { readNodeLoad } from '../../adapters/linux-node-load.ts';
import { linuxNetwork } from '../../adapters/net/linux-network.ts';
import { netDial } from '../../adapters/net/net-dial.ts';
import { createOwnUsage } from '../../adapters/stats/own-usage.ts';
import { linuxKernelTunables } from '../../adapters/process/linux-kernel-tunables.ts';
import { setOwnOomScore, setOwnOpenFiles } from '../../adapters/process/own-process.ts';
import { openTracer } from '../../../tracing/open-tracer.ts';
import type { OpenTracer } from '../../../tracing/tracer-options.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import type { Mounts } from '../../ports/mounts.ts';
import type { AgentFlags } from '../flags/flags-values-agent.ts';
import { CertificateFigures } from '../../features/metrics/certificate-figures.ts';
import { openCluster } from './compose-cluster.ts';
import type { Join } from './compose-join.ts';
import { chooseCgroupDriver } from './choose-cgroup-driver.ts';
import { composeJoin } from './compose-join.ts';
import { openStats } from './open-stats.ts';
import { orRefuse } from '../or-refuse.ts';
import type { Platform } from '../compose/platform.ts';
import { openRuntime } from './open-runtime.ts';

export interface RealPlatform extends Platform {
  /** The join; absent on a standalone node. */
  readonly join?: Join;
  readonly certificates: CertificateFigures;
  close(): Promise<void>;
}

/** Creates the production platform: this machine, and the runtime behind the configured socket. */
export async function composePlatform(given: {
  config: KubeletConfig;
  flags: AgentFlags;
  log: Logger;
}): Promise<RealPlatform> {
  const { config, flags, log } = given;
  const clock = systemClock;
  const random = systemRandom;
  const mounts = new LinuxMounts();
  const linuxNode = readLinuxNode();
  prepareProcess(config.cgroups, log);
  await orRefuse(
    `the root directory ${flags.rootDir} cannot be used`,
    mkdir(flags.rootDir, { recursive: true, mode: 0o750 }),
  );
  await shareRoot(mounts, flags.rootDir, log);
  const nodeName = flags.hostnameOverride === '' ? linuxNode.hostname : flags.hostnameOverride;
  const tracer = await composeTracer(given, nodeName);
  const { client, imageClient, runtimeCalls, ...opened } = await openRuntime({ ...given, clock, tracer });
  const certificates = new CertificateFigures(clock);
  const join = await composeJoin({
    ...{ flags, nodeName, figures: certificates, clock, random, log },
    rotates: config.security.rotateClientCertificate,
  });
  const cluster = join === undefined ? undefined : openCluster(join.access, config.node, { clock, random, tracer });
  const cgroupDriver = await chooseCgroupDriver(opened.runtime, config.cgroups.driver, log);
  const cgroupsRefused = 'the cgroups of this machine cannot be used';
  return {
    ...{ clock, random, log, tracer, mounts, certificates },
    ...(join !== undefined &&
      cluster !== undefined && { join, cluster: { ...cluster, whenJoined: () => join.whenJoined() } }),
    runtime: opened.runtime,
    runtimeName: opened.name,
    images: opened.images,
    eventSources: opened.eventSources,
    isRuntimeOutdated: cgroupDriver.isRuntimeOutdated,
    cgroups: await orRefuse(cgroupsRefused, createLinuxCgroups(cgroupDriver.driver)),
    nodeSettings: { ...ownSettings, processGroups: await orRefuse(cgroupsRefused, createProcessGroups()) },
    ...machinePorts(),
    ...composePluginClients(clock),
    machine: await machineFacts(linuxNode, nodeName, { flags, log }),
    topology: () => readMachineTopology('', linuxNode.memoryBytes),
    observe: { runtimeCalls, ownUsage: createOwnUsage(performance.timeOrigin), certificates },
    stats: await openStats({
      ...{ clock, client, imageClient, log },
      agentGroup: config.cgroups.kubelet,
      runtimeGroup: flags.runtimeCgroups,
    }),
    close: async () => {
      cluster?.close();
      await opened.close();
      await tracer?.close();
    },
  };
}

/** Creates the ports to this machine that need no settings. */
function machinePorts(): Pick<
  RealPlatform,
  | 'files'
  | 'guardedFiles'
  | 'dial'
  | 'loginManager'
  | 'nodeLoad'
  | 'processes'
  | 'kernelLog'
  | 'logFiles'
  | 'disk'
  | 'network'
> {
  return {
    files: new LinuxFiles(),
    guardedFiles: new GuardedFiles(),
    dial: netDial,
    loginManager: createLogind(logindPlaces(process.env['DBUS_SYSTEM_BUS_ADDRESS'])),
    nodeLoad: () => readNodeLoad(),
    processes: linuxProcesses,
    kernelLog: new LinuxKernelLog(),
    logFiles: linuxLogFiles,
    disk: { diskUsage },
    network: linuxNetwork,
  };
}

async function machineFacts(
  linuxNode: ReturnType<typeof readLinuxNode>,
  nodeName: string,
  { flags, log }: { flags: AgentFlags; log: Logger },
): Promise<RealPlatform['machine']> {
  return {
    ...linuxNode,
    rootStorageBytes: await storageBytes(flags.rootDir, log),
    workingDir: process.cwd(),
    homeDir: homedir(),
    hugePageSizesBytes: await hugePageSizesBytes(),
    nodeName,
    addresses: flags.nodeIps.length > 0 ? flags.nodeIps : linuxNode.addresses,
  };
}

/** Creates the tracer (upstream: server.go newTracerProvider). */
async function composeTracer(
  { config, log }: { config: KubeletConfig; log: Logger },
  hostName: string,
): Promise<OpenTracer | undefined> {
  if (config.tracing === undefined) return undefined;
  return openTracer({ ...config.tracing, service: 'kubelet', hostName, clock: systemClock, log });
}

/** Creates the clients and servers of drivers and plugins on the node. */
function composePluginClients(
  clock: Clock,
): Pick<RealPlatform, 'csiDrivers' | 'pluginDial' | 'devicePlugins' | 'draDrivers' | 'podResources' | 'podsApi'> {
  return {
    csiDrivers: createCsiDrivers(clock),
    pluginDial: createPluginDial(clock),
    devicePlugins: createDevicePlugins(clock),
    draDrivers: createDraDrivers(clock),
    podResources: createPodResourcesServer(clock),
    podsApi: createPodsApiServer(clock),
  };
}

/** What the agent sets of the kernel and of its own process. */
const ownSettings = {
  tunables: linuxKernelTunables(),
  ownProcess: { setOomScore: (scoreAdj: number) => setOwnOomScore(scoreAdj) },
};

/** Prepares the process (upstream: server.go RunKubelet). What the machine does not permit is logged. */
function prepareProcess({ oomScoreAdj, maxOpenFiles }: KubeletConfig['cgroups'], log: Logger): void {
  const oomProblem = setOwnOomScore(oomScoreAdj);
  if (oomProblem !== undefined)
    log.warn(
      'the agent cannot lower its own OOM score (no CAP_SYS_RESOURCE?); under memory pressure the kernel may choose it',
      { wanted: oomScoreAdj, error: oomProblem },
    );
  inBackground(log, 'setting the limit of open files', limitOpenFiles(maxOpenFiles, log));
}

async function limitOpenFiles(limit: number, log: Logger): Promise<void> {
  const problem = await setOwnOpenFiles(limit, linuxProcesses);
  if (problem !== undefined)
    log.info(
      'the limit of open files cannot be set (no CAP_SYS_RESOURCE?); the agent keeps the one it was started with',
      {
        wanted: limit,
        error: problem,
      },
    );
}

/** Returns the size of the node's storage. If it fails, pods are not limited by the storage of the node. */
async function storageBytes(rootDir: string, log: Logger): Promise<number | undefined> {
  try {
    return (await diskUsage(rootDir)).capacityBytes;
  } catch (error) {
    log.warn('the size of the file system of the root directory cannot be read; the node offers no ephemeral storage', {
      rootDir,
      error: errorMessage(error),
    });
    return undefined;
  }
}

/**
 * Makes the root mount shared. Without it, mounts made in a container do not reach the host, nor the reverse (upstream:
 * setupDataDirs). Other pods are not affected.
 */
async function shareRoot(mounts: Mounts, rootDir: string, log: Logger): Promise<void> {
  try {
    await mounts.makeRshared(rootDir);
  } catch (error) {
    log.warn('the root directory cannot be made a shared mount; volumes with mount propagation will not start', {
      path: rootDir,
      error: errorMessage(error),
    });
  }
}
