/** `npm run up`, `npm run down` and `status`. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { errorMessage, isKind, KubeletError } from '../base/errors.ts';
import { ensureManifests, writeAgentConfig } from './agent.ts';
import { ensureCgroupRoot } from './cgroups.ts';
import { joinCluster } from './cluster/join-cluster.ts';
import { printJoinCommand } from './cluster/join-command.ts';
import { joinControlPlane } from './cluster/join-control-plane.ts';
import { joinMachine } from './cluster/join-machine.ts';
import { stopCommand, upCluster } from './cluster/up-cluster.ts';
import { containerdPidFile, openCri, runningContainerd, startOwnContainerd } from './containerd.ts';
import { detach, KEEPER_VARIABLE, READY_LINE } from './detach.ts';
import { ensureImages, readBusybox } from './image-store.ts';
import { standardImages } from './images/catalogue.ts';
import { checkDataFolder, claimDataFolder, noteMountsBefore } from './data-folder.ts';
import type { Instance } from './instance.ts';
import { DEFAULT_DATA_DIR, deriveInstance, endpointFile } from './instance.ts';
import type { CommandLine } from './options.ts';
import { commandOf, parseCommandLine, usageOf } from './options.ts';
import { acquireProcessFile, isAlive, readProcessFile, signalProcess, waitUntil } from './processes.ts';
import type { UpOptions } from './supervise.ts';
import { prepareNodePage } from './node-page.ts';
import { watchAgent } from './supervise.ts';
import { checkRuntimeHandlers, writeRuntimeClasses } from './runtime-handlers.ts';
import { adoptPrograms, findLeftovers, kubeletPidFile, realDataDir, tearDown } from './teardown.ts';

const UP_STOP_TIMEOUT_MS = 60_000;

const upPidFile = (instance: Instance): string => join(instance.runDir, 'up.json');
const downPidFile = (instance: Instance): string => join(instance.runDir, 'down.json');
/** Marks a containerd without an agent as intended. */
const runtimeOnlyFile = (instance: Instance): string => join(instance.runDir, 'runtime-only');
const say = (message: string): void => console.log(message);

async function main(): Promise<number> {
  const line = parseCommandLine(process.argv.slice(2), process.env);
  if (line.help || line.command === undefined) {
    say(usageOf(line.command));
    return line.help ? 0 : 2;
  }
  // Other users must not be able to change the files that this process and its children write, whatever the shell's
  // umask is.
  process.umask(process.umask() | 0o022);
  // Created first, so that later commands resolve a symbolic link above it in the same way.
  if (line.command === 'up') checkRuntimeHandlers(line.runtimeHandlers);
  if (line.command === 'up' && !line.printJoinCommand) mkdirSync(line.dataDir, { recursive: true });
  const instance = deriveInstance(realDataDir(line.dataDir));
  switch (line.command) {
    case 'up':
      if (line.printJoinCommand) {
        checkDataFolder(instance);
        await printJoinCommand(instance, { tokenLifeMs: line.tokenLifeMs, controlPlane: line.joinControlPlane, say });
        return 0;
      }
      claimDataFolder(instance);
      noteMountsBefore(instance);
      return up(instance, line);
    case 'down':
      checkDataFolder(instance);
      noteMountsBefore(instance);
      return down(instance, line.purge);
    case 'status':
      checkDataFolder(instance);
      return status(instance);
    default:
      console.error(`unknown command "${line.command}"\n${usageOf(line.command)}`);
      return 2;
  }
}

/** Whether this process is the background part of a detached `up`, which shows its output. */
const isKeeper = process.env[KEEPER_VARIABLE] !== undefined;

async function up(instance: Instance, line: CommandLine): Promise<number> {
  mkdirSync(instance.runDir, { recursive: true });
  const hasKeeper = line.detach && !isKeeper && (line.mode === 'cluster' || line.mode === 'join');
  if (isAlive(readProcessFile(downPidFile(instance))))
    throw new KubeletError(
      'Conflict',
      `npm run down is running on ${instance.dataDir}: try again when it has finished`,
    );
  if (
    isRunning(instance) ||
    isAlive(readProcessFile(upPidFile(instance))) ||
    (!hasKeeper && !acquireProcessFile(upPidFile(instance)))
  ) {
    const look =
      line.mode === 'cluster'
        ? `kubectl --kubeconfig ${instance.adminConfig} get pods -A`
        : `bin/kubelet pods${rootFlag(instance)}`;
    say(`kubelet-ts is already running on ${instance.dataDir}. Inspect: ${look}. Stop: ${stopCommand(instance)}`);
    return 0;
  }
  if (hasKeeper) return detach(instance, line.args);
  await cleanLeftovers(instance);
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());
  let keep = false;
  let code = 1;
  try {
    if (line.mode === 'cluster' || line.mode === 'join') code = await runCluster(instance, line, stop);
    else {
      const options = {
        endpoint: line.endpoint,
        cgroupDriver: line.cgroupDriver,
        runtimeHandlers: line.runtimeHandlers,
        detach: line.detach,
        runtimeOnly: line.mode === 'runtime-only',
      };
      const endpoint = await startRuntime(instance, options);
      if (stop.signal.aborted) return 130;
      ({ keep, code } = await runAgent(instance, { ...options, endpoint }, stop.signal));
    }
  } catch (error) {
    console.error(errorMessage(error));
  } finally {
    if (keep) writeFileSync(upPidFile(instance), '');
    else code = await takeDown(instance, { purge: false, code });
  }
  return code;
}

async function cleanLeftovers(instance: Instance): Promise<void> {
  adoptPrograms(instance);
  const left = await findLeftovers(instance);
  // A clean `down` removes this record. After a reboot it is the only sign of pods that are still in containerd's
  // store.
  if (
    left.length === 0 &&
    !existsSync(containerdPidFile(instance)) &&
    !isAlive(readProcessFile(kubeletPidFile(instance)))
  )
    return;
  say(`an earlier run did not stop cleanly: removing its leftovers (${left.length} kernel objects, and its records)`);
  await tearDown(instance, { purge: false, say });
  // The records were removed too: another `up` may have started meanwhile.
  mkdirSync(instance.runDir, { recursive: true });
  if (!acquireProcessFile(upPidFile(instance)))
    throw new KubeletError('Conflict', `another up has started on ${instance.dataDir}`);
}

/**
 * The files from which the images were built are not needed any more, and nothing else triggers a garbage collection
 * here.
 */
function giveBackMemory(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
}

/** Runs until it is stopped or fails. */
async function runCluster(instance: Instance, line: CommandLine, stop: AbortController): Promise<number> {
  writeFileSync(endpointFile(instance), line.endpoint === undefined ? '' : `${line.endpoint}\n`);
  const options = { ...line, detached: isKeeper, stopCommand: stopCommand(instance), say };
  const stopped = new Promise<void>((resolve) => {
    // An armed timer keeps the process alive until a signal comes.
    const idle = setInterval(() => undefined, 2 ** 30);
    stop.signal.addEventListener('abort', () => (clearInterval(idle), resolve()), { once: true });
  });
  try {
    if (line.joinToken !== undefined) {
      const joining = { ...options, by: line.joinToken, addresses: line.listen };
      const target = line.joinControlPlane ? await joinControlPlane(instance, joining, stop.signal) : joining;
      await joinMachine(instance, target, stop.signal);
    } else if (line.joinConfig === undefined) await upCluster(instance, options, stop.signal);
    else await joinCluster(instance, { ...options, kubeconfig: line.joinConfig }, stop.signal);
    if (isKeeper && !stop.signal.aborted) say(READY_LINE);
    giveBackMemory();
    await stopped;
    return 0;
  } finally {
    // After this no program is restarted.
    stop.abort();
  }
}

/** The endpoint of a runtime that has the images. */
async function startRuntime(instance: Instance, options: UpOptions): Promise<string> {
  const endpoint = options.endpoint ?? `unix://${instance.containerdSocket}`;
  writeFileSync(endpointFile(instance), options.endpoint === undefined ? '' : `${endpoint}\n`);
  const facts =
    options.endpoint === undefined
      ? await startOwnContainerd(instance, say, {
          cgroupDriver: options.cgroupDriver,
          handlers: options.runtimeHandlers,
        })
      : undefined;
  if (facts !== undefined)
    say(
      `containerd ${facts.majorVersion}.${facts.minorVersion} is running on ${instance.containerdSocket}${facts.maySetOomScore ? '' : ' (no CAP_SYS_RESOURCE: OOM scores are not lowered)'}`,
    );
  else if (options.cgroupDriver === 'cgroupfs') ensureCgroupRoot(instance.cgroupRoot);
  const client = openCri(endpoint);
  try {
    const images = standardImages(process.arch, await readBusybox());
    const imported = await ensureImages(endpoint, client, images, facts?.snapshotter);
    say(imported.length > 0 ? `built and imported ${imported.join(', ')}` : 'images are in place');
  } finally {
    client.close();
  }
  return endpoint;
}

async function runAgent(
  instance: Instance,
  options: UpOptions & { endpoint: string },
  signal: AbortSignal,
): Promise<{ keep: boolean; code: number }> {
  if (options.runtimeOnly) {
    say(`runtime only: CRI on ${options.endpoint}`);
    if (options.detach) {
      writeFileSync(runtimeOnlyFile(instance), '');
      return { keep: true, code: 0 };
    }
    await new Promise<void>((resolve) => {
      // An armed timer keeps the process alive until a signal comes.
      const idle = setInterval(() => undefined, 2 ** 30);
      signal.addEventListener('abort', () => (clearInterval(idle), resolve()), { once: true });
    });
    return { keep: false, code: 0 };
  }
  ensureManifests(instance);
  writeRuntimeClasses(instance, options.runtimeHandlers);
  const { healthzPort } = await writeAgentConfig(instance, options.endpoint, options.cgroupDriver);
  const page = await prepareNodePage(instance, '127.0.0.1');
  return watchAgent(instance, { ...options, healthzPort, page, rootFlag: rootFlag(instance) }, signal);
}

async function down(instance: Instance, purge: boolean): Promise<number> {
  if (existsSync(instance.dataDir)) {
    // Two concurrent runs would report each other's unfinished work as failures. An `up` that starts now finds this
    // one.
    if (!(await waitUntil(() => acquireDown(instance), UP_STOP_TIMEOUT_MS, 50)))
      throw new KubeletError('Conflict', `another npm run down is running on ${instance.dataDir}`);
  }
  const holder = readProcessFile(upPidFile(instance));
  if (isAlive(holder)) {
    say(`stopping the running up (process ${holder.pid})`);
    signalProcess(holder, 'SIGTERM');
    if (!(await waitUntil(() => !isAlive(holder), UP_STOP_TIMEOUT_MS))) signalProcess(holder, 'SIGKILL');
  }
  return takeDown(instance, { purge, code: 0 });
}

async function takeDown(instance: Instance, options: { purge: boolean; code: number }): Promise<number> {
  const left = await tearDown(instance, { purge: options.purge, say });
  if (left.length === 0) {
    say(
      options.purge
        ? `all removed, including ${instance.dataDir}`
        : `all removed; images, manifests, logs and the cluster's state are kept in ${instance.dataDir} (npm run down -- ${instance.dataDir === DEFAULT_DATA_DIR ? '' : `--data ${instance.dataDir} `}--purge removes them too)`,
    );
    return options.code;
  }
  console.error(`could not remove:\n  ${left.join('\n  ')}`);
  return 1;
}

async function status(instance: Instance): Promise<number> {
  const left = await findLeftovers(instance);
  say(isRunning(instance) ? `running on ${instance.dataDir}` : `not running on ${instance.dataDir}`);
  left.forEach((item) => say(`  ${item}`));
  return isRunning(instance) ? 0 : 3;
}

/** Also true when another `down` has just removed the folder. */
function acquireDown(instance: Instance): boolean {
  try {
    if (!existsSync(instance.runDir)) mkdirSync(instance.runDir);
    return acquireProcessFile(downPidFile(instance));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return !existsSync(instance.dataDir);
    if (code === 'EEXIST') return false;
    throw error;
  }
}

/** From a detached `up`: an agent, or only the runtime if that was requested. */
function isRunning(instance: Instance): boolean {
  if (wasCutOff(instance)) return false;
  if (isAlive(readProcessFile(kubeletPidFile(instance)))) return true;
  return existsSync(runtimeOnlyFile(instance)) && runningContainerd(instance) !== undefined;
}

/**
 * The `up` that supervised the programs died without stopping them: they run, but nothing restarts them. A detached
 * `up` leaves an empty record.
 */
function wasCutOff(instance: Instance): boolean {
  const record = readProcessFile(upPidFile(instance));
  return record !== undefined && !isAlive(record);
}

function rootFlag(instance: Instance): string {
  return instance.dataDir === DEFAULT_DATA_DIR ? '' : ` --root-dir ${instance.kubeletRoot}`;
}

// A closed terminal or pipe must not end `up` before it has removed what it created.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
try {
  process.exitCode = await main();
} catch (error) {
  // A mistyped flag gives a usage error. Anything else is a bug of this program, so its location is shown.
  const mistyped = error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
  console.error(
    mistyped
      ? `${error.message}\n${usageOf(commandOf(process.argv.slice(2)))}`
      : isKind(error, 'Invalid') || isKind(error, 'Conflict')
        ? errorMessage(error)
        : error,
  );
  process.exitCode = mistyped ? 2 : 1;
}
