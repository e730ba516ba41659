/** Removes everything that an instance may have created, from any state: running, partly dead, after a reboot. */
import { existsSync, globSync, mkdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { errorMessage } from '../base/errors.ts';
import type { CriClient } from '../cri/cri-client.ts';
import { parseEndpoint } from '../cri/endpoint.ts';
import { listCgroupTree, removeCgroupTree } from './cgroups.ts';
import { tryCommand } from './commands.ts';
import { registryPidFile } from './cluster/registry.ts';
import { accepts, containerdPidFile, openCri, runningContainerd } from './containerd.ts';
import { ownMounts, purgeDataFolder } from './data-folder.ts';
import type { Instance } from './instance.ts';
import { deriveInstance, endpointFile } from './instance.ts';
import { networkLeftovers, tearDownNetwork } from './network.ts';
import { nodeSpaceLeftovers, removeNodeSpace } from './node-space.ts';
import {
  commandLine,
  findByOption,
  findShims,
  isAlive,
  readProcessFile,
  signalProcess,
  stopProcess,
  waitUntil,
  writeProcessFile,
} from './processes.ts';

export const kubeletPidFile = (instance: Instance): string => join(instance.runDir, 'kubelet.json');
export const controlPlanePidFile = (instance: Instance): string => join(instance.runDir, 'control-plane.json');
export const nodeNetworkPidFile = (instance: Instance): string => join(instance.runDir, 'node-network.json');
export const nodeStoragePidFile = (instance: Instance): string => join(instance.runDir, 'node-storage.json');

/**
 * How to find each program of an instance without its record, when `up` was killed between the start and the record.
 */
const signs = (instance: Instance): [pidFile: string, option: string, value: string][] => [
  [kubeletPidFile(instance), '--config', instance.kubeletConfig],
  [containerdPidFile(instance), '--config', instance.containerdConfig],
  [controlPlanePidFile(instance), '--data-dir', instance.controlPlaneDir],
  [nodeNetworkPidFile(instance), '--kubeconfig', instance.nodeNetworkConfig],
  [nodeStoragePidFile(instance), '--kubeconfig', instance.nodeStorageConfig],
  [registryPidFile(instance), 'serve', join(instance.registryDir, 'config.yml')],
];

/** Writes missing records, so that the next commands find the programs. Returns their number. */
export function adoptPrograms(instance: Instance): number {
  const lost = signs(instance).filter(([file]) => !isAlive(readProcessFile(file)));
  const found = lost.flatMap(([file, option, value]) => {
    const record = findByOption(option, value);
    return record === undefined ? [] : [[file, record.pid] as const];
  });
  if (found.length > 0) mkdirSync(instance.runDir, { recursive: true });
  for (const [file, pid] of found) writeProcessFile(file, pid);
  return found.length;
}

/** What a container gets between SIGTERM and SIGKILL when the whole node goes. */
const CONTAINER_GRACE_S = 2;
const STOP_CONCURRENCY = 8;
const ROUNDS = 3;

export interface TeardownOptions {
  /** Also the image store, the manifests and the logs. */
  readonly purge: boolean;
  /** Called with a message for each step. */
  readonly say: (message: string) => void;
}

/** Returns what could not be removed; empty means success. It can be repeated. */
export async function tearDown(instance: Instance, options: TeardownOptions): Promise<string[]> {
  const stop = async (what: string, file: string): Promise<void> => {
    const record = readProcessFile(file);
    if (!isAlive(record)) return;
    options.say(`stopping ${what}`);
    await stopProcess(record, 5000);
  };
  adoptPrograms(instance);
  const nodes = localNodes(instance);
  const quiet = { ...options, purge: false, say: () => undefined };
  if (nodes.length > 0) options.say(`removing ${nodes.length} nodes`);
  await Promise.all(nodes.map((node) => tearDown(node, quiet)));
  // The agent first, so that it restores nothing that is removed. The other steps are independent of each other.
  await stop('the agent', kubeletPidFile(instance));
  await Promise.all(beside(instance).map(([what, file]) => stop(what, file)));
  let clean = false;
  let left: string[] = [];
  // A single reading of the process table can miss a process that forks meanwhile. If processes remain, they are killed
  // in another round.
  for (let round = 0; round < ROUNDS; round += 1) {
    clean = (await removeOnce(instance, options)) || clean;
    left = await findLeftovers(instance);
    if (left.length === 0) break;
  }
  // With a mount still in place, removing would delete the mount's content.
  if (left.length === 0) removeFiles(instance, { ...options, keepImages: clean });
  return left;
}

/** The nodes of `up --nodes`, each with its own folder. */
export function localNodes({ dataDir }: Instance): Instance[] {
  return globSync('nodes/*', { cwd: dataDir }).map((path) => deriveInstance(join(dataDir, path)));
}

/** The programs of a cluster beside its agent and its runtime. */
const beside = (instance: Instance): [what: string, pidFile: string][] => [
  ['names and services', nodeNetworkPidFile(instance)],
  ['volumes on the disk', nodeStoragePidFile(instance)],
  ['the control plane', controlPlanePidFile(instance)],
  ['the registry', registryPidFile(instance)],
];

/** Returns whether the runtime itself removed the pods. */
async function removeOnce(instance: Instance, options: TeardownOptions): Promise<boolean> {
  let clean = false;
  const steps: (() => Promise<unknown>)[] = [
    async () => (clean = await removePods(instance, options.say)),
    () => stopProcess(runningContainerd(instance), 10_000),
    () => killLeftovers(instance),
    () => unmountAll(instance),
    async () => removeShimSockets(instance),
    () => removeNodeSpace(instance),
    () => tearDownNetwork(instance),
    () => removeCgroupTree(instance.cgroupRoot),
    () => removeSlice(instance),
  ];
  for (const step of steps) {
    // A failed step must not prevent the others. What it left is listed at the end.
    await step().catch((error: unknown) => options.say(`while removing: ${errorMessage(error)}`));
  }
  return clean;
}

/**
 * What the kernel still has of the instance: mounts, processes, cgroups, interfaces, rules. Tests call it to prove that
 * nothing leaks.
 */
export async function findLeftovers(instance: Instance): Promise<string[]> {
  const { shims, children } = findShims(instance.containerdSocket);
  const containerd = runningContainerd(instance);
  return [
    ...(containerd === undefined ? [] : [`containerd, process ${containerd.pid}`]),
    ...beside(instance).flatMap(([what, file]) => {
      const record = readProcessFile(file);
      return isAlive(record) ? [`${what}, process ${record.pid}`] : [];
    }),
    ...[...shims, ...children].map((record) => `process ${record.pid} (${commandLine(record)})`),
    ...ownMounts(instance).map((point) => `mount ${point}`),
    ...[instance.cgroupRoot, `/${instance.cgroupSlice}`].flatMap(listCgroupTree).map((folder) => `cgroup ${folder}`),
    ...nodeSpaceLeftovers(instance),
    ...(await networkLeftovers(instance)),
    ...(await Promise.all(localNodes(instance).map(findLeftovers))).flat(),
  ];
}

/**
 * Through the CRI, while the runtime is alive, so that networks are released properly. False if something may be left
 * in its store.
 */
async function removePods(instance: Instance, say: (message: string) => void): Promise<boolean> {
  const foreign = givenEndpoint(instance);
  const socket = foreign === undefined ? instance.containerdSocket : parseEndpoint(foreign);
  if (foreign === undefined && runningContainerd(instance) === undefined) return !existsSync(instance.containerdState);
  if (!(await accepts(socket))) return false;
  const client = openCri(socket);
  try {
    const { items } = await client.runtime.listPodSandbox({}, { timeoutMs: 10_000 });
    const ownUids = foreign === undefined ? undefined : podUids(instance);
    const own = items.filter(
      (item) => ownUids === undefined || ownUids.has(item.labels['io.kubernetes.pod.uid'] ?? ''),
    );
    if (own.length > 0) say(`removing ${own.length} pod${own.length === 1 ? '' : 's'}`);
    const queue = own.map((item) => item.id);
    const worker = async (): Promise<void> => {
      for (let id = queue.shift(); id !== undefined; id = queue.shift()) await removePod(client, id);
    };
    await Promise.all(Array.from({ length: STOP_CONCURRENCY }, worker));
    return true;
  } catch (error) {
    say(`the runtime did not remove the pods (${errorMessage(error)}), removing them directly`);
    return false;
  } finally {
    client.close();
  }
}

function givenEndpoint(instance: Instance): string | undefined {
  if (!existsSync(endpointFile(instance))) return undefined;
  const text = readFileSync(endpointFile(instance), 'utf8').trim();
  return text === '' ? undefined : text;
}

async function removePod(client: CriClient, id: string): Promise<void> {
  const { containers } = await client.runtime.listContainers({ filter: { podSandboxId: id } });
  await Promise.all(
    containers.map((container) =>
      client.runtime.stopContainer({ containerId: container.id, timeout: CONTAINER_GRACE_S }, { timeoutMs: 15_000 }),
    ),
  );
  await client.runtime.stopPodSandbox({ podSandboxId: id }, { timeoutMs: 20_000 });
  await client.runtime.removePodSandbox({ podSandboxId: id }, { timeoutMs: 20_000 });
}

/** In a shared runtime, only pods whose folder our agent created are ours. */
function podUids(instance: Instance): Set<string> {
  const fromRoot = globSync('pods/*', { cwd: instance.kubeletRoot }).map((path) => path.slice('pods/'.length));
  const fromLogs = globSync('*', { cwd: instance.podLogsDir }).map((name) => name.slice(name.lastIndexOf('_') + 1));
  return new Set([...fromRoot, ...fromLogs]);
}

/** Containers before their shims: a shim that dies first leaves its container to process 1. */
async function killLeftovers(instance: Instance): Promise<void> {
  await waitUntil(
    () => {
      const { shims, children } = findShims(instance.containerdSocket);
      for (const record of [...children, ...shims]) signalProcess(record, 'SIGKILL');
      return shims.length === 0 && children.length === 0;
    },
    5000,
    20,
  );
}

/** systemd removes its slices only on request; with the driver cgroupfs there are none. */
async function removeSlice(instance: Instance): Promise<void> {
  const folder = `/${instance.cgroupSlice}`;
  if (listCgroupTree(folder).length === 0) return;
  await tryCommand(['systemctl', 'stop', instance.cgroupSlice]);
  await removeCgroupTree(folder);
}

/** A busy mount is detached lazily: it disappears with its last user. */
async function unmountAll(instance: Instance): Promise<void> {
  for (const flags of [[], ['-l']]) {
    for (const point of ownMounts(instance)) await tryCommand(['umount', ...flags, point]);
  }
}

/** Shims listen in /run/containerd/s whatever containerd's state folder is; each bundle stores the address. */
function removeShimSockets(instance: Instance): void {
  for (const path of globSync('io.containerd.runtime.v2.task/*/*/{address,bootstrap.json}', {
    cwd: instance.containerdState,
  })) {
    const text = readFileSync(join(instance.containerdState, path), 'utf8');
    const socket = /unix:\/\/(\/run\/containerd\/s\/[0-9a-f]+)/.exec(text)?.[1];
    if (socket !== undefined) rmSync(socket, { force: true });
  }
}

/**
 * The image store is kept by default, for a quick next start. It is removed if pods could not be removed through the
 * CRI, because it contains their records.
 */
function removeFiles(instance: Instance, options: TeardownOptions & { keepImages: boolean }): void {
  const remove = (path: string): void => rmSync(path, { recursive: true, force: true });
  if (options.purge) {
    const left = purgeDataFolder(instance);
    if (left.length > 0) options.say(`not created by up, keeping: ${left.join(', ')}`);
    return;
  }
  for (const path of [
    instance.containerdState,
    instance.containerdSocket,
    `${instance.containerdSocket}.ttrpc`,
    instance.kubeletRoot,
    instance.podLogsDir,
    join(instance.dataDir, 'cni'),
  ])
    remove(path);
  if (!options.keepImages) remove(instance.containerdRoot);
  remove(instance.runDir);
}

/** Absolute, with symbolic links resolved as far as the path exists. */
export function realDataDir(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}
