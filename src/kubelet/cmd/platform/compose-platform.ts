import { mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { inBackground } from '../../../base/background.ts';
import type { Clock } from '../../../base/clock.ts';
import { systemClock } from '../../../base/clock.ts';
import { errorMessage, isKind } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import { systemRandom } from '../../../base/random.ts';
import type { CriCallRecord, CriClient } from '../../../cri/cri-client.ts';
import { createCriClient } from '../../../cri/cri-client.ts';
import { containerdEventSource, criEventSource } from '../../adapters/cri/cri-events.ts';
import { CriImages } from '../../adapters/cri/cri-images.ts';
import { CriRuntime } from '../../adapters/cri/cri-runtime.ts';
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
import { readTerminationMessage } from '../../features/container-logs/termination-message.ts';
import { DEFAULT_RUNTIME_ENDPOINT } from '../../model/config/defaults.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import type { Mounts } from '../../ports/mounts.ts';
import type { ContainerRuntime, RuntimeVersion } from '../../ports/runtime.ts';
import type { DockerFlags } from '../flags/docker-flags.ts';
import type { AgentFlags } from '../flags/flags-values-agent.ts';
import { CertificateFigures } from '../../features/metrics/certificate-figures.ts';
import { openCluster } from './compose-cluster.ts';
import type { Join } from './compose-join.ts';
import { chooseCgroupDriver } from './choose-cgroup-driver.ts';
import { composeJoin } from './compose-join.ts';
import { openStats } from './open-stats.ts';
import { orRefuse } from '../or-refuse.ts';
import type { Platform } from '../compose/platform.ts';

export interface RealPlatform extends Platform {
  /** Absent on a node of its own. */
  readonly join?: Join;
  readonly certificates: CertificateFigures;
  close(): Promise<void>;
}

/**
 * How long a runtime that does not answer is waited for before the agent goes on without its name; it is asked again by
 * the monitor.
 */
const RUNTIME_PATIENCE_MS = 5000;
const RUNTIME_RETRY_MS = 100;

/** The platform as it is: this machine, and the runtime behind the configured socket. */
export async function composePlatform(given: {
  config: KubeletConfig;
  flags: AgentFlags;
  log: Logger;
}): Promise<RealPlatform> {
  const { config, flags, log } = given;
  const clock = systemClock;
  const mounts = new LinuxMounts();
  const machine = readLinuxNode();
  prepareProcess(config.cgroups, log);
  await orRefuse(
    `the root directory ${flags.rootDir} cannot be used`,
    mkdir(flags.rootDir, { recursive: true, mode: 0o750 }),
  );
  await shareRoot(mounts, flags.rootDir, log);
  const nodeName = flags.hostnameOverride === '' ? machine.hostname : flags.hostnameOverride;
  const tracer = await composeTracer(given, nodeName);
  const calls = new Set<(call: CriCallRecord) => void>();
  const observe = (call: CriCallRecord): void => calls.forEach((listener) => listener(call));
  const { requestTimeoutMs } = config.runtime;
  const shim = flags.docker === undefined ? undefined : await startShim(flags.docker, given);
  const endpoint = shim?.endpoint ?? config.runtime.endpoint;
  const calling = { clock, observe, requestTimeoutMs, tracer };
  const client = createCriClient({ endpoint, ...calling });
  const imageEndpoint = shim?.endpoint ?? imageEndpointOf(config);
  const imageClient = imageEndpoint === endpoint ? client : createCriClient({ endpoint: imageEndpoint, ...calling });
  const messages = { logFiles: linuxLogFiles, rootDir: flags.rootDir, podLogsDir: config.containerLogs.podLogsDir };
  const runtime = new CriRuntime(client.runtime, (status) => readTerminationMessage(messages, status), clock);
  const version = await awaitVersion(runtime, clock, log);
  if (version !== undefined)
    log.info('container runtime', { name: version.name, version: version.version, apiVersion: version.apiVersion });
  const certificates = new CertificateFigures(clock);
  const join = await composeJoin({
    flags,
    rotates: config.security.rotateClientCertificate,
    nodeName,
    figures: certificates,
    clock,
    random: systemRandom,
    log,
  });
  const cluster =
    join === undefined ? undefined : openCluster(join.access, config.node, { clock, random: systemRandom, tracer });
  const cgroupDriver = await chooseCgroupDriver(runtime, config.cgroups.driver, log);
  return {
    clock,
    ...(join !== undefined &&
      cluster !== undefined && { join, cluster: { ...cluster, whenJoined: () => join.whenJoined() } }),
    certificates,
    random: systemRandom,
    log,
    tracer,
    runtime,
    isRuntimeOutdated: cgroupDriver.isRuntimeOutdated,
    images: new CriImages(imageClient.images),
    eventSources: [criEventSource(client.runtime), containerdEventSource(client.channel, client.runtime)],
    files: new LinuxFiles(),
    guardedFiles: new GuardedFiles(),
    mounts,
    cgroups: await orRefuse('the cgroups of this machine cannot be used', createLinuxCgroups(cgroupDriver.driver)),
    dial: netDial,
    loginManager: createLogind(logindPlaces(process.env['DBUS_SYSTEM_BUS_ADDRESS'])),
    nodeLoad: () => readNodeLoad(),
    processes: linuxProcesses,
    kernelLog: new LinuxKernelLog(),
    nodeSettings: {
      ...ownSettings,
      processGroups: await orRefuse('the cgroups of this machine cannot be used', createProcessGroups()),
    },
    ...composePluginClients(clock),
    logFiles: linuxLogFiles,
    disk: { diskUsage },
    machine: {
      ...machine,
      rootStorageBytes: await storageBytes(flags.rootDir, log),
      workingDir: process.cwd(),
      homeDir: homedir(),
      hugePageSizesBytes: await hugePageSizesBytes(),
      nodeName,
      addresses: flags.nodeIps.length > 0 ? flags.nodeIps : machine.addresses,
    },
    topology: () => readMachineTopology('', machine.memoryBytes),
    network: linuxNetwork,
    observe: {
      runtimeCalls: (listener) => calls.add(listener),
      ownUsage: createOwnUsage(performance.timeOrigin),
      certificates,
    },
    stats: await openStats({
      clock,
      client,
      imageClient,
      agentGroup: config.cgroups.kubelet,
      runtimeGroup: flags.runtimeCgroups,
      log,
    }),
    runtimeName: version?.name ?? 'containerd',
    close: async () => {
      closeAll(client, imageClient, ...(cluster === undefined ? [] : [cluster]));
      await shim?.stop();
      await tracer?.close();
    },
  };
}

/** Where the CRI of Docker is served, unless the configuration names another socket (upstream, until 1.23). */
const DOCKERSHIM_ENDPOINT = 'unix:///var/run/dockershim.sock';

/** Docker as the runtime: the dockershim in this process, loaded with its first use. */
async function startShim(
  docker: DockerFlags,
  { config, flags, log }: { config: KubeletConfig; flags: AgentFlags; log: Logger },
): Promise<{ readonly endpoint: string; stop(): Promise<void> }> {
  const { startDockershim, defaultDockershimOptions } = await import('../../../dockershim/cmd/start-dockershim.ts');
  const given = config.runtime.endpoint;
  const endpoint = given === DEFAULT_RUNTIME_ENDPOINT ? DOCKERSHIM_ENDPOINT : given;
  const rootFolder = path.join(flags.rootDir, 'dockershim');
  const shim = await orRefuse(
    `the dockershim cannot serve on ${endpoint}`,
    startDockershim({ ...defaultDockershimOptions, ...docker, rootFolder, listen: endpoint }, log),
  );
  return { endpoint, stop: () => shim.stop() };
}

/** Upstream: server.go newTracerProvider. */
async function composeTracer(
  { config, log }: { config: KubeletConfig; log: Logger },
  hostName: string,
): Promise<OpenTracer | undefined> {
  if (config.tracing === undefined) return undefined;
  return openTracer({ ...config.tracing, service: 'kubelet', hostName, clock: systemClock, log });
}

/** How the agent reaches drivers and plugins on the node, and they it. */
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

/** Upstream: server.go RunKubelet. What the machine does not permit is logged. */
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

/** Without it pods are not held to the storage of the node. */
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
 * Without it no mount made inside a container reaches the host, nor the other way (upstream: setupDataDirs). Pods that
 * ask for neither run all the same.
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

function closeAll(...clients: readonly Pick<CriClient, 'close'>[]): void {
  for (const client of new Set(clients)) client.close();
}

function imageEndpointOf(config: KubeletConfig): string {
  return config.runtime.imageEndpoint === '' ? config.runtime.endpoint : config.runtime.imageEndpoint;
}

async function awaitVersion(runtime: ContainerRuntime, clock: Clock, log: Logger): Promise<RuntimeVersion | undefined> {
  const endMs = clock.monotonicMs() + RUNTIME_PATIENCE_MS;
  for (;;) {
    try {
      return await runtime.version({ timeoutMs: RUNTIME_PATIENCE_MS });
    } catch (error) {
      // An error of the runtime's own is an answer; there is nothing to wait for.
      const isAway = isKind(error, 'Unavailable') || isKind(error, 'Timeout');
      if (!isAway || clock.monotonicMs() >= endMs) {
        log.error('the container runtime does not answer; pods wait until it does', { error: errorMessage(error) });
        return undefined;
      }
      await new Promise<void>((resolve) => clock.setTimer(RUNTIME_RETRY_MS, resolve));
    }
  }
}
