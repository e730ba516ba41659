import { statSync } from 'node:fs';
import type { CredentialProvider } from '../features/images/credentials/provider-config.ts';
import { loadCredentialProviders } from '../features/images/credentials/provider-config.ts';
import { computePriorityGraces } from '../features/node-shutdown/priority-groups.ts';
import { IptablesHints } from '../features/iptables-hints/iptables-hints.ts';
import { readManifestToken } from '../features/pod-config/manifest-server.ts';
import { linuxIptables } from '../adapters/net/linux-iptables.ts';
import { takeInstanceLock } from '../adapters/process/instance-lock.ts';
import type { LockFile } from '../adapters/process/lock-file.ts';
import { takeLockFile } from '../adapters/process/lock-file.ts';
import { systemdNotify, watchdogPeriodMs } from '../adapters/process/systemd-notify.ts';
import type { AdjustableLogger } from '../../base/pino-log.ts';
import { createPinoLog } from '../../base/pino-log.ts';
import { KubeletError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { createLoop } from '../../base/loop.ts';
import type { KubeletConfig } from '../model/config/kubelet-config.ts';
import { hostProblems } from '../model/config/validate.ts';
import type { Kubelet } from './compose/compose-kubelet.ts';
import { composeKubelet } from './compose/compose-kubelet.ts';
import { composeRecords } from './compose/compose-records.ts';
import { composeHealthChecks } from './servers/compose-local-sources.ts';
import type { RealPlatform } from './platform/compose-platform.ts';
import { composePlatform } from './platform/compose-platform.ts';
import { guardedFiles, looseFile } from './config/file-modes.ts';
import type { AgentFlags } from './flags/flags-values-agent.ts';
import { callerIsVerbose } from './log-callers.ts';
import { createLogOutput } from './log-output.ts';
import { orRefuse } from './or-refuse.ts';
import { composeNodeServing, openServers, serveManifests, Servers } from './servers/open-servers.ts';
import { settingsFromFlags } from './settings-from-flags.ts';

export interface AgentSettings {
  readonly config: KubeletConfig;
  readonly flags: AgentFlags;
  readonly warnings: readonly string[];
}

export interface RunningAgent {
  readonly log: Logger;
  /** Resolves when another process wants the lock file and --exit-on-lock-contention is set, else never. */
  readonly contended: Promise<void>;
  /** Ends the agent. With --shutdown-on-sigterm, `signal` SIGTERM first ends the pods in order. */
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
 * Starts the agent. If it cannot run at all (another agent uses the folder, or the host is unsuitable), it rejects with
 * a KubeletError that says what to do.
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
  const tokens = await readTokens(flags, platform);
  const settings = settingsFromFlags(config, flags, {
    manifestServer: tokens.manifests !== undefined,
    credentialProviders: await credentialProviders(config, flags, platform),
  });
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
    ...{ config, flags, serving, log },
    pageToken: tokens.page,
    problems: () => [...(platform.join?.problems() ?? []), ...serving.problems()],
  });
  if (tokens.manifests !== undefined)
    serveManifests(servers, kubelet, { address: flags.manifestServerAddress, token: tokens.manifests });
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

/** Reads the tokens of the manifest server and of the node's page; undefined if the server or its token is off. */
async function readTokens(
  flags: AgentFlags,
  { files }: RealPlatform,
): Promise<{ readonly manifests: string | undefined; readonly page: string | undefined }> {
  const { manifestServerAddress, manifestServerTokenFile, cadvisorPort, cadvisorTokenFile } = flags;
  const hasPageToken = cadvisorPort !== 0 && cadvisorTokenFile !== '';
  return {
    manifests: manifestServerAddress === '' ? undefined : await readManifestToken(files, manifestServerTokenFile),
    page: hasPageToken ? await readManifestToken(files, cadvisorTokenFile, 'page of the node') : undefined,
  };
}

/**
 * Loads the credential provider plugins, once for the whole run of the agent. An error is reported now, and not at the
 * first pull.
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

/** Waits until other processes have released the lock file; undefined if none is configured. */
async function openLockFile({ lockFile }: AgentFlags, log: Logger): Promise<LockFile | undefined> {
  if (lockFile === '') return undefined;
  log.info('acquiring the file lock', { path: lockFile });
  return takeLockFile(lockFile);
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

/** Notifies systemd's watchdog, only while the checks pass (upstream: watchdog/). */
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
