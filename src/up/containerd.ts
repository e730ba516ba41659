/** Starts and finds the instance's own containerd. */
import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { hasSysResource } from '../base/capabilities.ts';
import { KubeletError } from '../base/errors.ts';
import type { CriClient } from '../cri/cri-client.ts';
import { createCriClient } from '../cri/cri-client.ts';
import { ensureCgroupRoot } from './cgroups.ts';
import { machineEnvironment, runCommand, tryCommand } from './commands.ts';
import { PAUSE_IMAGE } from './images/catalogue.ts';
import type { Instance } from './instance.ts';
import { checkSocketPaths } from './instance.ts';
import { setUpNetwork } from './network.ts';
import type { ProcessRecord } from './processes.ts';
import { isAlive, readProcessFile, waitUntil, writeProcessFile } from './processes.ts';
import type { ContainerdFacts, Snapshotter } from './runtime-config.ts';
import { needsRunscAdapter, renderRunscAdapter } from './runsc-adapter.ts';
import { adapterPath, parseContainerdVersion, renderContainerdConfig } from './runtime-config.ts';

const START_TIMEOUT_MS = 30_000;
/** Debian's place first, then upstream's. */
const cniBinDirs = ['/usr/lib/cni', '/opt/cni/bin', '/usr/libexec/cni'];
const cniPlugins = ['bridge', 'host-local', 'loopback', 'portmap'];

export const containerdPidFile = (instance: Instance): string => join(instance.runDir, 'containerd.json');

export function runningContainerd(instance: Instance): ProcessRecord | undefined {
  const record = readProcessFile(containerdPidFile(instance));
  return isAlive(record) ? record : undefined;
}

/** Inspects the machine: version, capabilities, whether overlay mounts work in the data folder. */
async function readContainerdFacts(instance: Instance): Promise<ContainerdFacts> {
  const cniBinDir = cniBinDirs.find((folder) => cniPlugins.every((plugin) => existsSync(join(folder, plugin))));
  if (cniBinDir === undefined)
    throw new KubeletError(
      'NotFound',
      `no CNI plugins (${cniPlugins.join(', ')}) in ${cniBinDirs.join(', ')}; install containernetworking-plugins`,
    );
  return {
    ...parseContainerdVersion(await runCommand(['containerd', '--version'])),
    maySetOomScore: hasSysResource(readFileSync('/proc/self/status', 'utf8')),
    snapshotter: await chooseSnapshotter(instance),
    cniBinDir,
    sandboxImage: PAUSE_IMAGE,
  };
}

/**
 * overlayfs does not work on some file systems, for example on another overlay. Copying is slow but works everywhere.
 */
async function chooseSnapshotter(instance: Instance): Promise<Snapshotter> {
  const probe = join(instance.dataDir, 'overlay-probe');
  const at = (name: string): string => join(probe, name);
  for (const name of ['lower', 'upper', 'work', 'merged']) mkdirSync(at(name), { recursive: true });
  const options = `lowerdir=${at('lower')},upperdir=${at('upper')},workdir=${at('work')}`;
  const mounted = await tryCommand(['mount', '-t', 'overlay', 'overlay', '-o', options, at('merged')]);
  if (mounted.code === 0) await runCommand(['umount', at('merged')]);
  rmSync(probe, { recursive: true, force: true });
  return mounted.code === 0 ? 'overlayfs' : 'native';
}

/**
 * Starts containerd in its own session, so that Ctrl-C in the terminal does not reach it. Network and cgroup must be
 * prepared. Returns when its CRI answers. Throws `Unavailable` with the end of its log otherwise.
 */
export async function startOwnContainerd(
  instance: Instance,
  warn: (message: string) => void,
  wanted: Pick<ContainerdFacts, 'handlers' | 'cgroupDriver'> & {
    network?: 'made' | 'later';
    onEnd?: (how: string) => void;
  } = {},
): Promise<ContainerdFacts> {
  const { network, onEnd, ...chosen } = wanted;
  checkSocketPaths(instance);
  for (const folder of [
    instance.runDir,
    instance.containerdRoot,
    instance.containerdState,
    instance.registryCertsDir,
    instance.podLogsDir,
  ])
    mkdirSync(folder, { recursive: true });
  const facts = { ...(await readContainerdFacts(instance)), ...chosen };
  if (network === undefined) await setUpNetwork(instance, warn);
  // With the systemd driver, systemd creates the slice.
  if (wanted.cgroupDriver !== 'systemd') ensureCgroupRoot(instance.cgroupRoot);
  await launchContainerd(instance, facts, {
    awaitsNetwork: network !== 'later',
    ...(onEnd !== undefined && { onEnd }),
  });
  return facts;
}

/**
 * Starts only the process; everything else must exist. Tests restart containerd with it. `onEnd` is called when it ends
 * after it has served. `awaitsNetwork`: it serves only when there is a network for pods.
 */
export async function launchContainerd(
  instance: Instance,
  facts: ContainerdFacts,
  {
    onEnd = () => undefined,
    awaitsNetwork = true,
  }: { readonly onEnd?: (how: string) => void; readonly awaitsNetwork?: boolean } = {},
): Promise<void> {
  writeFileSync(instance.containerdConfig, renderContainerdConfig(instance, facts));
  for (const [name, program] of Object.entries(facts.handlers ?? {}))
    if (needsRunscAdapter(program))
      writeFileSync(adapterPath(instance, name), renderRunscAdapter(program), { mode: 0o755 });
  rmSync(instance.containerdSocket, { force: true });
  const log = openSync(instance.containerdLog, 'a');
  const [program = '', ...args] = [...instance.enter, 'containerd', '--config', instance.containerdConfig];
  const child = spawn(program, args, {
    detached: true,
    stdio: ['ignore', log, log],
    env: machineEnvironment(),
  });
  closeSync(log);
  let ended: string | undefined;
  child.on('error', (error) => (ended = error.message));
  child.on('exit', (code, signal) => (ended = `exit ${code ?? signal}`));
  if (child.pid !== undefined) writeProcessFile(containerdPidFile(instance), child.pid);
  child.unref();
  const up = await waitUntil(
    async () => ended !== undefined || (await accepts(instance.containerdSocket)),
    START_TIMEOUT_MS,
  );
  if (ended === undefined && up && (await criAnswers(instance, awaitsNetwork))) {
    child.once('exit', (code, signal) => onEnd(signal === null ? `exit ${code}` : `signal ${signal}`));
    return;
  }
  throw new KubeletError(
    'Unavailable',
    `containerd did not start (${ended ?? 'no answer'}):\n${lastLines(instance.containerdLog, 8)}`,
    { op: 'start containerd' },
  );
}

/** Whether a program listens on the socket. The connection is closed without sending anything. */
export function accepts(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const attempt = connect(socket);
    attempt.once('connect', () => (attempt.destroy(), resolve(true)));
    attempt.once('error', () => resolve(false));
  });
}

/** In a cluster with several nodes, the pod network exists only after the node got its range of addresses. */
async function criAnswers({ containerdSocket }: Instance, awaitsNetwork: boolean): Promise<boolean> {
  const client = openCri(containerdSocket);
  const isNeeded = (type: string): boolean => awaitsNetwork || type !== 'NetworkReady';
  try {
    return await waitUntil(
      () =>
        client.runtime.status({}, { timeoutMs: 2000 }).then(
          (answer) => answer.status?.conditions.every(({ type, status }) => status || !isNeeded(type)) === true,
          () => false,
        ),
      START_TIMEOUT_MS,
      20,
    );
  } finally {
    client.close();
  }
}

export function openCri(endpoint: string): CriClient {
  return createCriClient({ endpoint, clock: systemClock });
}

export function lastLines(path: string, count: number): string {
  if (!existsSync(path)) return '';
  return readFileSync(path, 'utf8').trimEnd().split('\n').slice(-count).join('\n');
}
