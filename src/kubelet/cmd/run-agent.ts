import { statSync } from 'node:fs';
import type { CredentialProvider } from '../features/images/credentials/provider-config.ts';
import { loadCredentialProviders } from '../features/images/credentials/provider-config.ts';
import { computePriorityGraces } from '../features/node-shutdown/priority-groups.ts';
import { IptablesHints } from '../features/iptables-hints/iptables-hints.ts';
import { createHealthApp } from '../features/server/health-app.ts';
import type { Problem } from '../features/server/local-api.ts';
import { createLocalApi } from '../features/server/local-api.ts';
import { createReadOnlyApp } from '../features/server/read-only-app.ts';
import { createManifestServer, readManifestToken } from '../features/pod-config/manifest-server.ts';
import { linuxIptables } from '../adapters/net/linux-iptables.ts';
import type { Listening } from '../adapters/net/http-listen.ts';
import { listenTcp, listenUnix } from '../adapters/net/http-listen.ts';
import { takeInstanceLock } from '../adapters/process/instance-lock.ts';
import type { LockFile } from '../adapters/process/lock-file.ts';
import { takeLockFile } from '../adapters/process/lock-file.ts';
import { systemdNotify, watchdogPeriodMs } from '../adapters/process/systemd-notify.ts';
import type { AdjustableLogger } from '../../base/pino-log.ts';
import { createPinoLog } from '../../base/pino-log.ts';
import { inBackground } from '../../base/background.ts';
import { KubeletError, errorMessage } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { createLoop } from '../../base/loop.ts';
import type { NodeAddress } from '../../api/core/node.ts';
import type { KubeletConfig } from '../model/config/kubelet-config.ts';
import { hostProblems } from '../model/config/validate.ts';
import type { Kubelet } from './compose/compose-kubelet.ts';
import { composeKubelet } from './compose/compose-kubelet.ts';
import { composeRecords } from './compose/compose-records.ts';
import type { ComposeSettings } from './compose/compose-settings.ts';
import type { Serving } from './servers/compose-serving.ts';
import { composeServing } from './servers/compose-serving.ts';
import { openSecureServer } from './servers/compose-secure-server.ts';
import { observeRequests } from '../features/metrics/http-requests.ts';
import { observedFetch } from '../features/server/request-metrics.ts';
import { tracedFetch } from '../features/server/request-traces.ts';
import { composeHealthChecks, composeLocalSources } from './servers/compose-local-sources.ts';
import { openPageServer } from './servers/compose-page-server.ts';
import { composeServer } from './servers/compose-server.ts';
import type { RealPlatform } from './platform/compose-platform.ts';
import { composePlatform } from './platform/compose-platform.ts';
import { guardedFiles, looseFile } from './config/file-modes.ts';
import type { AgentFlags } from './flags/flags-values-agent.ts';
import { processFacts } from './process-facts.ts';
import { callerIsVerbose } from './log-callers.ts';
import { createLogOutput } from './log-output.ts';
import { orRefuse } from './or-refuse.ts';

export interface AgentSettings {
  readonly config: KubeletConfig;
  readonly flags: AgentFlags;
  readonly warnings: readonly string[];
}

export interface RunningAgent {
  readonly log: Logger;
  /** Resolves when another process wants the lock file and --exit-on-lock-contention is set; never otherwise. */
  readonly contended: Promise<void>;
  /** Ends the agent. With --shutdown-on-sigterm, `signal` SIGTERM ends the pods first, in order. */
  stop(signal: string): Promise<void>;
}

export function agentLog(config: KubeletConfig): AdjustableLogger {
  const { logging } = config;
  const output = createLogOutput({
    config: logging,
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    later: (run, delayMs) => void setTimeout(run, delayMs).unref(),
  });
  process.once('exit', () => output.flush());
  return createPinoLog({
    format: logging.format,
    verbosity: logging.verbosity,
    isVerbose: callerIsVerbose(logging.vmodule),
    write: (line, isError) => output.write(line, isError),
    nowMs: () => Date.now(),
    pid: process.pid,
    program: 'kubelet',
  });
}

/**
 * Starts the agent. Rejects with a KubeletError that says what to do when it cannot run at all: the folder is another
 * agent's, the host is unfit.
 */
export async function startAgent(
  { config, flags, warnings }: AgentSettings,
  log: AdjustableLogger,
): Promise<RunningAgent> {
  for (const warning of [...warnings, ...looseFiles(config, flags)]) log.warn(warning);
  const lockFile = await openLockFile(flags, log);
  const lock = await takeInstanceLock(flags.rootDir);
  const platform = await composePlatform({ config, flags, log });
  refuseUnfitHost(config, platform);
  refuseShutdownWithoutGrace(config, flags);
  const token =
    flags.manifestServerAddress === ''
      ? undefined
      : await readManifestToken(platform.files, flags.manifestServerTokenFile);
  const pageToken =
    flags.cadvisorPort === 0 || flags.cadvisorTokenFile === ''
      ? undefined
      : await readManifestToken(platform.files, flags.cadvisorTokenFile, 'page of the node');
  const settings: ComposeSettings = {
    config,
    rootDir: flags.rootDir,
    manifestServer: token !== undefined,
    housekeeping: { periodMs: flags.housekeepingPeriodMs, longestMs: flags.maxHousekeepingPeriodMs },
    containerGc: {
      minAgeMs: flags.minimumContainerTtlMs,
      maxPerContainer: flags.maxDeadContainersPerContainer,
      maxTotal: flags.maxDeadContainers,
    },
    pinnedImages: flags.pinnedImages,
    nodeProblems: flags.nodeProblemConditions,
    credentialProviders: await credentialProviders(config, flags, platform),
    credentialProviderBinDir: flags.imageCredentialProviderBinDir,
    node: {
      labels: flags.nodeLabels,
      externalCloudProvider: flags.cloudProvider === 'external',
      nodeIps: flags.nodeIps,
      version: flags.reportedVersion,
      ignoreEviction: flags.allocatableIgnoresEviction,
    },
    admission:
      flags.admissionHooksDir === ''
        ? {}
        : {
            hooks: {
              folder: flags.admissionHooksDir,
              timeoutMs: flags.admissionHookTimeoutMs,
              onFailure: flags.admissionHookFailurePolicy,
            },
          },
  };
  const records = await orRefuse(
    `the root directory ${flags.rootDir} cannot be used`,
    composeRecords(flags.rootDir, platform),
  );
  const kubelet = composeKubelet(settings, platform, records);
  if (platform.cluster !== undefined) platform.join?.start(platform.cluster);
  await orRefuse('the agent cannot work on this machine', kubelet.start());
  const hints = composeHints(platform, config);
  hints?.start();
  const servers = new Servers(log);
  const serving = composeNodeServing(kubelet, platform, { config, flags });
  await openServers(servers, kubelet, {
    config,
    flags,
    serving,
    pageToken,
    log,
    problems: () => [...(platform.join?.problems() ?? []), ...serving.problems()],
  });
  if (token !== undefined) serveManifests(servers, kubelet, { address: flags.manifestServerAddress, token });
  systemdNotify('READY=1', process.env);
  const watchdog = startWatchdog(kubelet);
  log.info('agent is running', {
    node: platform.machine.nodeName,
    rootDir: flags.rootDir,
    listening: servers.addresses(),
  });
  const leave = async (signal: string): Promise<void> => {
    systemdNotify('STOPPING=1', process.env);
    if (flags.shutdownOnSigterm && signal === 'SIGTERM') await kubelet.nodeShutdown.shutDown();
    await watchdog?.stop();
    await servers.close();
    await serving.stop();
    await hints?.stop();
    await kubelet.stop();
    await platform.join?.stop();
    await platform.close();
    lock.release();
    lockFile?.release();
  };
  let leaving: Promise<void> | undefined;
  const contended =
    (flags.exitOnLockContention ? lockFile?.contended : undefined) ?? new Promise<void>(() => undefined);
  return { log, contended, stop: (signal) => (leaving ??= leave(signal)) };
}

/** Waits until other processes have released it. Undefined where none is configured. */
async function openLockFile({ lockFile }: AgentFlags, log: Logger): Promise<LockFile | undefined> {
  if (lockFile === '') return undefined;
  log.info('acquiring the file lock', { path: lockFile });
  return takeLockFile(lockFile);
}

/**
 * Credential provider plugins are configured for the whole life of the agent; a mistake there is better known now than
 * at the first pull.
 */
async function credentialProviders(
  { gates }: KubeletConfig,
  flags: AgentFlags,
  platform: RealPlatform,
): Promise<readonly CredentialProvider[]> {
  if (flags.imageCredentialProviderConfig === '') return [];
  const { providers, errors } = await loadCredentialProviders(platform.files, {
    configPath: flags.imageCredentialProviderConfig,
    binDir: flags.imageCredentialProviderBinDir,
    allowsTokens: gates.enabled('KubeletServiceAccountTokenForCredentialProviders'),
  });
  if (errors.length > 0) throw new KubeletError('Invalid', errors.join('\n'));
  return providers;
}

function looseFiles({ security }: KubeletConfig, flags: AgentFlags): readonly string[] {
  const given = {
    kubeconfig: flags.kubeconfig,
    bootstrapKubeconfig: flags.bootstrapKubeconfig,
    config: flags.configFile,
    clientCa: security.clientCaFile,
    servingKey: security.tlsPrivateKeyFile,
  };
  return guardedFiles(given).flatMap((guarded) => {
    try {
      return looseFile(guarded, statSync(guarded.file)) ?? [];
    } catch {
      return []; // Who needs it says so.
    }
  });
}

function composeHints(
  { processes, clock, random, log }: RealPlatform,
  { network }: KubeletConfig,
): IptablesHints | undefined {
  return network.utilChains ? new IptablesHints({ families: linuxIptables(processes), clock, random, log }) : undefined;
}

function refuseUnfitHost(config: KubeletConfig, platform: RealPlatform): void {
  const [problem] = hostProblems(config.versioned, {
    cgroupVersion: platform.cgroups.version,
    isSwapOn: platform.machine.swapBytes > 0,
  });
  if (problem !== undefined) throw new KubeletError('Invalid', problem.message);
}

function refuseShutdownWithoutGrace(config: KubeletConfig, { shutdownOnSigterm }: AgentFlags): void {
  if (!shutdownOnSigterm || computePriorityGraces(config.shutdown, config.gates).length > 0) return;
  throw new KubeletError(
    'Invalid',
    '--shutdown-on-sigterm needs shutdownGracePeriod or shutdownGracePeriodByPodPriority in the configuration',
  );
}

/** The servers of the agent. One that cannot listen is said and does no harm to pods. */
class Servers {
  readonly #log: Logger;
  readonly #listening: Listening[] = [];
  #closed = false;

  constructor(log: Logger) {
    this.#log = log;
  }

  async open(listen: Promise<Listening | undefined>): Promise<void> {
    try {
      const listening = await listen;
      if (listening === undefined) return;
      if (this.#closed) await listening.close();
      else this.#listening.push(listening);
    } catch (error) {
      this.#log.error('a server of the agent cannot listen; pods are not affected', { error: errorMessage(error) });
    }
  }

  addresses(): string[] {
    return this.#listening.map((each) => each.address);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#listening.map((each) => each.close()));
  }
}

function composeNodeServing(
  kubelet: Kubelet,
  platform: RealPlatform,
  { config, flags }: Pick<AgentSettings, 'config' | 'flags'>,
): Serving {
  const { clock, random, log, cluster, certificates: figures, machine } = platform;
  const { nodeName } = machine;
  // As the cluster has them: the approver of certificate requests compares with these.
  const addresses = (): readonly NodeAddress[] => kubelet.node.watch.current()?.status?.addresses ?? [];
  const onAddresses = (listener: () => void): (() => void) => kubelet.node.watch.onChange(listener);
  return composeServing({
    security: config.security,
    gates: config.gates,
    certDir: flags.certDir,
    nodeName,
    hostname: nodeName,
    addresses,
    onAddresses,
    cluster,
    figures,
    clock,
    random,
    log,
  });
}

type ServersOptions = Pick<AgentSettings, 'config' | 'flags'> & {
  readonly serving: Serving;
  readonly pageToken: string | undefined;
  readonly log: AdjustableLogger;
  readonly problems: () => readonly Problem[];
};

async function openServers(
  servers: Servers,
  kubelet: Kubelet,
  { config, flags, serving, pageToken, log, problems }: ServersOptions,
): Promise<void> {
  const { healthzPort, healthzBindAddress, readOnlyPort, address, enabled, port } = config.server;
  const local = composeLocalSources(kubelet);
  const observer = observeRequests(kubelet.observation.metrics, () => kubelet.platform.clock.monotonicMs());
  const sources = { ...local, problems: () => [...local.problems(), ...problems()] };
  await Promise.all([
    flags.cliSocket === '' ? undefined : servers.open(listenUnix(createLocalApi(sources), flags.cliSocket)),
    enabled && port > 0
      ? servers.open(
          openSecureServer({
            platform: kubelet.platform,
            config,
            serving,
            handlers: composeServer({ kubelet, views: sources, process: processFacts(flags, log), observer }),
          }),
        )
      : undefined,
    flags.cadvisorPort > 0
      ? servers.open(openPageServer({ kubelet, views: sources, serving, port: flags.cadvisorPort, token: pageToken }))
      : undefined,
    readOnlyPort > 0
      ? servers.open(
          listenTcp(
            {
              fetch: tracedFetch(
                observedFetch(createReadOnlyApp(sources), observer, { type: 'readonly', debuggingHandlers: false }),
                kubelet.platform.tracer,
                true,
              ),
            },
            address,
            readOnlyPort,
          ),
        )
      : undefined,
    healthzPort > 0
      ? servers.open(listenTcp(createHealthApp({ ping: () => undefined }), healthzBindAddress, healthzPort))
      : undefined,
  ]);
}

/** Takes manifests only once those accepted earlier are known: a list without them would end their pods. */
function serveManifests(
  servers: Servers,
  kubelet: Kubelet,
  { address, token }: { address: string; token: string },
): void {
  const { log } = kubelet.platform;
  const [host, port] = splitAddress(address);
  const serve = async (): Promise<void> => {
    const manifests = await kubelet.sources.accepted();
    if (manifests !== undefined)
      await servers.open(listenTcp(createManifestServer({ manifests, token: () => token, log }), host, port));
  };
  inBackground(log, 'opening the manifest server', serve());
}

function splitAddress(address: string): [string, number] {
  const colon = address.lastIndexOf(':');
  return [address.slice(0, colon).replace(/^\[|\]$/g, ''), Number(address.slice(colon + 1))];
}

/** Signs of life for systemd, only while the checks pass (upstream: watchdog/). */
function startWatchdog(kubelet: Kubelet): { stop(): Promise<void> } | undefined {
  const periodMs = watchdogPeriodMs(process.env, process.pid);
  if (periodMs === undefined) return undefined;
  const { clock, random, log } = kubelet.platform;
  const checks = composeHealthChecks(kubelet);
  const pass = (): void => {
    const failed = Object.entries(checks).flatMap(([name, check]) => (check() === undefined ? [] : [name]));
    if (failed.length === 0) systemdNotify('WATCHDOG=1', process.env);
    else log.error("systemd's watchdog is not notified: health checks of the agent fail", { failed });
  };
  const loop = createLoop({ name: 'watchdog', clock, random, log, periodMs, pass });
  loop.start();
  return loop;
}
