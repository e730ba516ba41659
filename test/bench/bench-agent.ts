/**
 * The measured agent: the bundle, started as `bin/kubelet` starts it, on the benchmark's own containerd and folders.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { closeSync, copyFileSync, mkdirSync, openSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';
import { writeAgentConfig } from '../../src/up/agent.ts';
import { getJson } from '../../src/up/agent-client.ts';
import { machineEnvironment, runCommand } from '../../src/up/commands.ts';
import { lastLines } from '../../src/up/containerd.ts';
import { WEB_IMAGE } from '../../src/up/images/catalogue.ts';
import type { ProcessRecord } from '../../src/up/processes.ts';
import { describeProcess, isAlive, stopProcess, waitUntil, writeProcessFile } from '../../src/up/processes.ts';
import { kubeletPidFile } from '../../src/up/teardown.ts';
import type { TestContainerd } from '../integration/support/containerd.ts';
import type { PodStatusView } from './pod-watch.ts';
import { PodWatch } from './pod-watch.ts';
import { processCpuMs, residentMib } from './process-figures.ts';
import { COMMAND } from './raw-pod.ts';
import { whileStopped } from './while-stopped.ts';

const repository = join(import.meta.dirname, '..', '..');
const NODE_NAME = 'bench';
const START_TIMEOUT_MS = 30_000;

export class BenchAgent {
  readonly #containerd: TestContainerd;
  readonly #program: string;
  readonly #staging: string;
  #record: ProcessRecord | undefined;
  #watch: PodWatch | undefined;

  private constructor(containerd: TestContainerd, program: string) {
    this.#containerd = containerd;
    this.#program = program;
    this.#staging = join(containerd.instance.dataDir, 'staging');
  }

  /**
   * Builds the bundle into the benchmark's own folder, so that a `dist` in the checkout is neither used nor changed.
   */
  static async prepare(containerd: TestContainerd): Promise<BenchAgent> {
    const { instance } = containerd;
    const home = join(instance.dataDir, 'program');
    mkdirSync(join(home, 'bin'), { recursive: true });
    copyFileSync(join(repository, 'bin', 'kubelet'), join(home, 'bin', 'kubelet'));
    for (const name of ['node_modules', 'package.json']) symlinkSync(join(repository, name), join(home, name));
    await runCommand([process.execPath, join(repository, 'scripts', 'build.ts'), join(home, 'dist')]);
    const agent = new BenchAgent(containerd, join(home, 'bin', 'kubelet'));
    for (const folder of [instance.manifestsDir, agent.#staging]) mkdirSync(folder, { recursive: true });
    await writeAgentConfig(instance, containerd.endpoint);
    return agent;
  }

  /** Starts the process and returns at once. */
  spawn(): ChildProcess {
    const { instance } = this.#containerd;
    const log = openSync(instance.kubeletLog, 'a');
    const args = [
      '--config',
      instance.kubeletConfig,
      '--root-dir',
      instance.kubeletRoot,
      '--hostname-override',
      NODE_NAME,
      ...(process.env['BENCH_KUBELET_ARGS'] ?? '').split(' ').filter(Boolean),
    ];
    const environment = machineEnvironment();
    const child = spawn(this.#program, args, {
      detached: true,
      stdio: ['ignore', log, log],
      env: { ...environment, PATH: `${dirname(process.execPath)}:${environment['PATH'] ?? ''}` },
    });
    closeSync(log);
    if (child.pid === undefined) throw new Error(`cannot start ${this.#program}`);
    writeProcessFile(kubeletPidFile(instance), child.pid);
    this.#record = describeProcess(child.pid);
    child.unref();
    return child;
  }

  /** Starts the process and opens the watch. */
  async start(): Promise<void> {
    this.spawn();
    if (!(await waitUntil(() => !isAlive(this.#record) || this.answers(), START_TIMEOUT_MS)))
      throw this.#broken('did not answer');
    if (!isAlive(this.#record)) throw this.#broken('ended right after its start');
    await this.openWatch();
  }

  async openWatch(): Promise<PodWatch> {
    this.#watch = await PodWatch.open(this.#containerd.instance.kubeletSocket);
    return this.#watch;
  }

  closeWatch(): void {
    this.#watch?.close();
    this.#watch = undefined;
  }

  get watch(): PodWatch {
    if (this.#watch === undefined) throw new Error('the watch is not open');
    return this.#watch;
  }

  get pid(): number {
    if (!isAlive(this.#record)) throw this.#broken('does not run');
    return this.#record.pid;
  }

  async answers(): Promise<boolean> {
    return this.pods().then(
      () => true,
      () => false,
    );
  }

  async pods(): Promise<PodStatusView[]> {
    const { items } = (await getJson(this.#containerd.instance.kubeletSocket, '/pods')) as {
      items?: PodStatusView[] | null;
    };
    return items ?? [];
  }

  /** Runs `work` while the process is stopped. */
  asleep<T>(work: () => Promise<T>): Promise<T> {
    return whileStopped(this.pid, 250, work);
  }

  async kill(): Promise<void> {
    this.closeWatch();
    const record = this.#record;
    if (isAlive(record)) process.kill(record.pid, 'SIGKILL');
    if (!(await waitUntil(() => !isAlive(record), 10_000, 2))) throw new Error('the agent survived SIGKILL');
  }

  async stop(): Promise<void> {
    this.closeWatch();
    await stopProcess(this.#record, 5000);
  }

  /** User and system time of the process so far, in milliseconds. */
  cpuMs(): number {
    return processCpuMs(this.pid);
  }

  residentMib(): number {
    return residentMib(this.pid);
  }

  /**
   * Writes manifests next to the folder. The returned function moves them into it, each by an atomic rename, and
   * returns the time of the first move.
   */
  stage(names: readonly string[], restartPolicy: 'Always' | 'Never' = 'Always'): () => number {
    for (const name of names) writeFileSync(join(this.#staging, `${name}.yaml`), manifest(name, restartPolicy));
    return () => {
      const atMs = performance.now();
      for (const name of names)
        renameSync(join(this.#staging, `${name}.yaml`), join(this.#containerd.instance.manifestsDir, `${name}.yaml`));
      return atMs;
    };
  }

  /** Removes manifests and returns the time. */
  withdraw(names: readonly string[]): number {
    const atMs = performance.now();
    for (const name of names) rmSync(join(this.#containerd.instance.manifestsDir, `${name}.yaml`), { force: true });
    return atMs;
  }

  #broken(what: string): Error {
    return new Error(`the agent ${what}; the end of its log:\n${lastLines(this.#containerd.instance.kubeletLog, 15)}`);
  }
}

/** The name of a static pod has the node's name as its suffix. */
export const podName = (manifestName: string): string => `${manifestName}-${NODE_NAME}`;

function manifest(name: string, restartPolicy: string): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels: { app: 'bench' } },
    spec: {
      restartPolicy,
      containers: [{ name: 'main', image: WEB_IMAGE, imagePullPolicy: 'IfNotPresent', command: COMMAND }],
    },
  });
}
