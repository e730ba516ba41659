/** `npm run up`, `npm run down`, and a look at what is there. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { errorMessage } from '../base/errors.ts';
import { ensureManifests, writeAgentConfig } from './agent.ts';
import { ensureCgroupRoot } from './cgroups.ts';
import { containerdPidFile, openCri, runningContainerd, startOwnContainerd } from './containerd.ts';
import { ensureImages, readBusybox } from './image-store.ts';
import { standardImages } from './images/catalogue.ts';
import { DEFAULT_DATA_DIR, deriveInstance, type Instance } from './instance.ts';
import { acquireProcessFile, isAlive, readProcessFile, signalProcess, waitUntil } from './processes.ts';
import type { CgroupDriver } from './runtime-config.ts';
import { type UpOptions, watchAgent } from './supervise.ts';
import { endpointFile, findLeftovers, kubeletPidFile, realDataDir, tearDown } from './teardown.ts';

const USAGE = `usage: npm run up -- [--data DIR] [--container-runtime-endpoint unix:///SOCKET]
                    [--cgroup-driver cgroupfs|systemd] [--detach] [--runtime-only]
       npm run down -- [--data DIR] [--purge]

  --data DIR      everything lives below this folder (default ${DEFAULT_DATA_DIR}, or $KUBELET_TS_DATA)
  --container-runtime-endpoint
                  use this runtime and start none
  --cgroup-driver who makes the pods' cgroups: cgroupfs (default), or systemd where it is process 1
  --detach        return when all pods are ready and leave them running
  --runtime-only  containerd and its network only, no agent
  --purge         also remove images, manifests and logs
`;
const UP_STOP_TIMEOUT_MS = 60_000;

const upPidFile = (instance: Instance): string => join(instance.runDir, 'up.json');
/** Says that a containerd without an agent is what was asked for. */
const runtimeOnlyFile = (instance: Instance): string => join(instance.runDir, 'runtime-only');
const say = (message: string): void => console.log(message);

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      data: { type: 'string' },
      'container-runtime-endpoint': { type: 'string' },
      'cgroup-driver': { type: 'string', default: 'cgroupfs' },
      detach: { type: 'boolean', default: false },
      'runtime-only': { type: 'boolean', default: false },
      purge: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const command = positionals[0];
  if (values.help || command === undefined) {
    say(USAGE);
    return command === undefined && !values.help ? 2 : 0;
  }
  const dataDir = resolve(values.data ?? process.env['KUBELET_TS_DATA'] ?? DEFAULT_DATA_DIR);
  // Made first, so that a symbolic link above it is resolved alike by every later command.
  if (command === 'up') mkdirSync(dataDir, { recursive: true });
  const instance = deriveInstance(realDataDir(dataDir));
  switch (command) {
    case 'up':
      return up(instance, { endpoint: values['container-runtime-endpoint'], cgroupDriver: cgroupDriverOf(values['cgroup-driver']), detach: values.detach, runtimeOnly: values['runtime-only'] });
    case 'down':
      return down(instance, values.purge);
    case 'status':
      return status(instance);
    default:
      console.error(`unknown command "${command}"\n${USAGE}`);
      return 2;
  }
}

function cgroupDriverOf(text: string): CgroupDriver {
  if (text !== 'cgroupfs' && text !== 'systemd') throw Object.assign(new TypeError(`--cgroup-driver must be cgroupfs or systemd, not "${text}"`), { code: 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE' });
  return text;
}

async function up(instance: Instance, options: UpOptions): Promise<number> {
  mkdirSync(instance.runDir, { recursive: true });
  if (isRunning(instance) || !acquireProcessFile(upPidFile(instance))) {
    say(`kubelet-ts already runs on ${instance.dataDir}. Look: bin/kubelet pods${rootFlag(instance)}. Stop: npm run down${instance.dataDir === DEFAULT_DATA_DIR ? '' : ` -- --data ${instance.dataDir}`}`);
    return 0;
  }
  const left = await findLeftovers(instance);
  // A clean `down` removes the record; after a reboot it is all that tells of pods still in containerd's store.
  if (left.length > 0 || existsSync(containerdPidFile(instance))) {
    say(`an earlier run was cut off: removing what it left (${left.length} things in the kernel, and its records)`);
    await tearDown(instance, { purge: false, say });
    mkdirSync(instance.runDir, { recursive: true });
    acquireProcessFile(upPidFile(instance));
  }
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort());
  let keep = false;
  let code = 1;
  try {
    const endpoint = await startRuntime(instance, options);
    if (stop.signal.aborted) return 130;
    ({ keep, code } = await runAgent(instance, { ...options, endpoint }, stop.signal));
  } catch (error) {
    console.error(errorMessage(error));
  } finally {
    if (keep) writeFileSync(upPidFile(instance), '');
    else code = await takeDown(instance, { purge: false, code });
  }
  return code;
}

/** The endpoint, with the images in place. */
async function startRuntime(instance: Instance, options: UpOptions): Promise<string> {
  const endpoint = options.endpoint ?? `unix://${instance.containerdSocket}`;
  writeFileSync(endpointFile(instance), options.endpoint === undefined ? '' : `${endpoint}\n`);
  const facts = options.endpoint === undefined ? await startOwnContainerd(instance, say, { cgroupDriver: options.cgroupDriver }) : undefined;
  if (facts !== undefined) say(`containerd ${facts.majorVersion}.${facts.minorVersion} runs on ${instance.containerdSocket}${facts.maySetOomScore ? '' : ' (no CAP_SYS_RESOURCE: oom scores are not lowered)'}`);
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

async function runAgent(instance: Instance, options: UpOptions & { endpoint: string }, signal: AbortSignal): Promise<{ keep: boolean; code: number }> {
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
    say(options.purge ? `all removed, ${instance.dataDir} too` : `all removed; images, manifests and logs stay in ${instance.dataDir} (npm run down -- ${instance.dataDir === DEFAULT_DATA_DIR ? '' : `--data ${instance.dataDir} `}--purge removes them too)`);
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
