/** `npm run up`, `npm run down`, and a look at what is there. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { errorMessage } from '../base/errors.ts';
import { ensureManifests, writeAgentConfig } from './agent.ts';
import { ensureCgroupRoot } from './cgroups.ts';
import { joinCluster } from './cluster/join-cluster.ts';
import { stopCommand, upCluster } from './cluster/up-cluster.ts';
import { containerdPidFile, openCri, runningContainerd, startOwnContainerd } from './containerd.ts';
import { detach, KEEPER_VARIABLE, READY_LINE } from './detach.ts';
import { ensureImages, readBusybox } from './image-store.ts';
import { standardImages } from './images/catalogue.ts';
import { DEFAULT_DATA_DIR, deriveInstance, type Instance } from './instance.ts';
import { type CommandLine, parseCommandLine, USAGE } from './options.ts';
import { acquireProcessFile, isAlive, readProcessFile, signalProcess, waitUntil } from './processes.ts';
import { type UpOptions, watchAgent } from './supervise.ts';
import { endpointFile, findLeftovers, kubeletPidFile, realDataDir, tearDown } from './teardown.ts';

const UP_STOP_TIMEOUT_MS = 60_000;

const upPidFile = (instance: Instance): string => join(instance.runDir, 'up.json');
/** Says that a containerd without an agent is what was asked for. */
const runtimeOnlyFile = (instance: Instance): string => join(instance.runDir, 'runtime-only');
const say = (message: string): void => console.log(message);

async function main(): Promise<number> {
  const line = parseCommandLine(process.argv.slice(2), process.env);
  if (line.help || line.command === undefined) {
    say(USAGE);
    return line.help ? 0 : 2;
  }
  // Made first, so that a symbolic link above it is resolved alike by every later command.
  if (line.command === 'up') mkdirSync(line.dataDir, { recursive: true });
  const instance = deriveInstance(realDataDir(line.dataDir));
  switch (line.command) {
    case 'up':
      return up(instance, line);
    case 'down':
      return down(instance, line.purge);
    case 'status':
      return status(instance);
    default:
      console.error(`unknown command "${line.command}"\n${USAGE}`);
      return 2;
  }
}

/** Whether this process stands behind a detached `up`, which shows what this one says. */
const isKeeper = process.env[KEEPER_VARIABLE] !== undefined;

async function up(instance: Instance, line: CommandLine): Promise<number> {
  mkdirSync(instance.runDir, { recursive: true });
  const hasKeeper = line.detach && !isKeeper && (line.mode === 'cluster' || line.mode === 'join');
  if (
    isRunning(instance) ||
    isAlive(readProcessFile(upPidFile(instance))) ||
    (!hasKeeper && !acquireProcessFile(upPidFile(instance)))
  ) {
    const look =
      line.mode === 'cluster'
        ? `kubectl --kubeconfig ${instance.adminConfig} get pods -A`
        : `bin/kubelet pods${rootFlag(instance)}`;
    say(`kubelet-ts already runs on ${instance.dataDir}. Look: ${look}. Stop: ${stopCommand(instance)}`);
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
  const left = await findLeftovers(instance);
  // A clean `down` removes the record; after a reboot it is all that tells of pods still in containerd's store.
  if (left.length === 0 && !existsSync(containerdPidFile(instance))) return;
  say(`an earlier run was cut off: removing what it left (${left.length} things in the kernel, and its records)`);
  await tearDown(instance, { purge: false, say });
  mkdirSync(instance.runDir, { recursive: true });
  acquireProcessFile(upPidFile(instance));
}

/** What the images were made of is not needed any more, and nothing else would ever ask for a collection here. */
function giveBackMemory(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
}

/** Until it is told to stop, or it cannot go on. */
async function runCluster(instance: Instance, line: CommandLine, stop: AbortController): Promise<number> {
  writeFileSync(endpointFile(instance), line.endpoint === undefined ? '' : `${line.endpoint}\n`);
  const options = { ...line, detached: isKeeper, stopCommand: stopCommand(instance), say };
  const stopped = new Promise<void>((resolve) => {
    // An armed timer keeps the process alive until a signal comes.
    const idle = setInterval(() => undefined, 2 ** 30);
    stop.signal.addEventListener('abort', () => (clearInterval(idle), resolve()), { once: true });
  });
  try {
    if (line.joinConfig === undefined) await upCluster(instance, options, stop.signal);
    else await joinCluster(instance, { ...options, kubeconfig: line.joinConfig }, stop.signal);
    if (isKeeper && !stop.signal.aborted) say(READY_LINE);
    giveBackMemory();
    await stopped;
    return 0;
  } finally {
    // Nobody starts again what is taken down now.
    stop.abort();
  }
}

/** The endpoint, with the images in place. */
async function startRuntime(instance: Instance, options: UpOptions): Promise<string> {
  const endpoint = options.endpoint ?? `unix://${instance.containerdSocket}`;
  writeFileSync(endpointFile(instance), options.endpoint === undefined ? '' : `${endpoint}\n`);
  const facts =
    options.endpoint === undefined
      ? await startOwnContainerd(instance, say, { cgroupDriver: options.cgroupDriver })
      : undefined;
  if (facts !== undefined)
    say(
      `containerd ${facts.majorVersion}.${facts.minorVersion} runs on ${instance.containerdSocket}${facts.maySetOomScore ? '' : ' (no CAP_SYS_RESOURCE: oom scores are not lowered)'}`,
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
  const { healthzPort } = await writeAgentConfig(instance, options.endpoint, options.cgroupDriver);
  return watchAgent(instance, { ...options, healthzPort, rootFlag: rootFlag(instance) }, signal);
}

async function down(instance: Instance, purge: boolean): Promise<number> {
  const holder = readProcessFile(upPidFile(instance));
  if (isAlive(holder)) {
    say(`asking the running up (process ${holder.pid}) to stop`);
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
        ? `all removed, ${instance.dataDir} too`
        : `all removed; images, manifests, logs and what a cluster knows stay in ${instance.dataDir} (npm run down -- ${instance.dataDir === DEFAULT_DATA_DIR ? '' : `--data ${instance.dataDir} `}--purge removes them too)`,
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

/** Left by a detached `up`: an agent, or the runtime alone if that was asked for. */
function isRunning(instance: Instance): boolean {
  if (isAlive(readProcessFile(kubeletPidFile(instance)))) return true;
  return existsSync(runtimeOnlyFile(instance)) && runningContainerd(instance) !== undefined;
}

function rootFlag(instance: Instance): string {
  return instance.dataDir === DEFAULT_DATA_DIR ? '' : ` --root-dir ${instance.kubeletRoot}`;
}

// A closed terminal or a reader that left must not end `up` before it has removed what it made.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
try {
  process.exitCode = await main();
} catch (error) {
  // A mistyped flag is no crash; anything else is a fault of this program and says where.
  const mistyped = error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
  console.error(mistyped ? `${error.message}\n${USAGE}` : error);
  process.exitCode = mistyped ? 2 : 1;
}
