// The real agent as a process on a private containerd: start, disturb, query, stop, and check that nothing is left.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { Pod } from '../../../src/api/core/pod.ts';
import { explanationText } from '../../../src/api/explanation/explanation-text.ts';
import type { PodExplanation } from '../../../src/api/explanation/explanation.ts';
import { freePort } from '../../../src/up/agent.ts';
import { getJson } from '../../../src/up/agent-client.ts';
import { machineEnvironment } from '../../../src/up/commands.ts';
import { lastLines } from '../../../src/up/containerd.ts';
import type { ProcessRecord } from '../../../src/up/processes.ts';
import { describeProcess, isAlive, stopProcess, writeProcessFile } from '../../../src/up/processes.ts';
import { kubeletPidFile } from '../../../src/up/teardown.ts';
import { builtProgram } from './agent-build.ts';
import type { TestContainerd } from './containerd.ts';
import { assertNoPodLeftovers, testCgroupDriver } from './containerd.ts';
import { patientMs, waitUntil } from './patience.ts';
import type { Change } from './watch.ts';
import { containerId, isReady, PodWatch } from './watch.ts';

export const NODE = 'node';
/** The limit on two busy cores; anything that takes longer counts as hung. */
const PATIENCE_MS = 30_000;
const ANSWER_MS = 5000;

export interface TestAgentOptions {
  /** The runtime's socket, in place of containerd's own: that of the proxy. */
  readonly endpoint?: string;
  /** Overrides parts of the configuration. */
  readonly config?: Record<string, unknown>;
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
  /** In place of a folder in containerd's data folder. */
  readonly rootDir?: string;
  readonly podLogsDir?: string;
}

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** One agent with its folders. Only one may run per containerd, because an agent stops pods it does not know. */
export class TestAgent {
  readonly watch = new PodWatch();
  readonly containerd: TestContainerd;
  readonly rootDir: string;
  readonly manifestsDir: string;
  readonly podLogsDir: string;
  readonly socket: string;
  readonly healthzPort: number;
  readonly #home: string;
  readonly #options: TestAgentOptions;
  readonly #program: string;
  readonly #files = new Set<string>();
  #record: ProcessRecord | undefined;
  #child: ChildProcess | undefined;

  private constructor(
    containerd: TestContainerd,
    options: TestAgentOptions,
    machine: { program: string; port: number; healthzPort: number },
  ) {
    this.containerd = containerd;
    this.#options = options;
    this.#program = machine.program;
    this.#home = join(containerd.instance.dataDir, 'agent');
    this.rootDir = options.rootDir ?? join(this.#home, 'root');
    this.podLogsDir = options.podLogsDir ?? join(this.#home, 'logs');
    this.manifestsDir = join(this.#home, 'manifests');
    this.socket = join(this.#home, 'kubelet.sock');
    this.healthzPort = machine.healthzPort;
    mkdirSync(this.manifestsDir, { recursive: true });
    this.writeConfig({ port: machine.port, ...options.config });
  }

  /** Creates the folders without starting anything. */
  static async prepare(containerd: TestContainerd, options: TestAgentOptions = {}): Promise<TestAgent> {
    const [program, port, healthzPort] = await Promise.all([builtProgram('kubelet'), freePort(0), freePort(0)]);
    return new TestAgent(containerd, options, { program, port, healthzPort });
  }

  static async start(containerd: TestContainerd, options: TestAgentOptions = {}): Promise<TestAgent> {
    const agent = await TestAgent.prepare(containerd, options);
    await agent.start();
    return agent;
  }

  writeConfig(overrides: Record<string, unknown> = {}): void {
    const config = {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      staticPodPath: this.manifestsDir,
      containerRuntimeEndpoint: this.#options.endpoint ?? this.containerd.endpoint,
      podLogsDir: this.podLogsDir,
      cgroupRoot: this.containerd.cgroupRoot,
      cgroupDriver: testCgroupDriver(),
      failCgroupV1: false,
      failSwapOn: false,
      address: '127.0.0.1',
      healthzPort: this.healthzPort,
      authentication: { anonymous: { enabled: false }, webhook: { enabled: false } },
      authorization: { mode: 'AlwaysAllow' },
      imageGCHighThresholdPercent: 100,
      // A machine with a nearly full disk can run the tests. The last three are upstream's defaults.
      evictionHard: {
        'nodefs.available': '0%',
        'imagefs.available': '0%',
        'memory.available': '100Mi',
        'nodefs.inodesFree': '5%',
        'imagefs.inodesFree': '5%',
      },
      makeIPTablesUtilChains: false,
      ...overrides,
    };
    writeFileSync(this.#configFile, JSON.stringify(config));
  }

  get #configFile(): string {
    return join(this.#home, 'kubelet.json');
  }

  get logFile(): string {
    return join(this.#home, 'agent.log');
  }

  get log(): string {
    return existsSync(this.logFile) ? readFileSync(this.logFile, 'utf8') : '';
  }

  get pid(): number {
    if (!isAlive(this.#record))
      throw new Error(`the agent does not run; the end of its log:\n${lastLines(this.logFile, 15)}`);
    return this.#record.pid;
  }

  get running(): boolean {
    return isAlive(this.#record);
  }

  get #arguments(): string[] {
    return [
      '--config',
      this.#configFile,
      '--root-dir',
      this.rootDir,
      '--cert-dir',
      join(this.#home, 'pki'),
      '--cli-socket',
      this.socket,
      '--hostname-override',
      NODE,
      ...(this.#options.args ?? []),
    ];
  }

  get #environment(): NodeJS.ProcessEnv {
    const environment = machineEnvironment();
    return { ...environment, ...this.#options.env, PATH: `${dirname(process.execPath)}:${environment['PATH'] ?? ''}` };
  }

  /** Starts the process and returns at once. */
  spawn(): ChildProcess {
    const log = openSync(this.logFile, 'a');
    const child = spawn(this.#program, this.#arguments, {
      detached: true,
      stdio: ['ignore', log, log],
      env: this.#environment,
    });
    closeSync(log);
    if (child.pid === undefined) throw new Error(`cannot start ${this.#program}`);
    // containerd.stop() ends it too, whatever becomes of this test.
    mkdirSync(this.containerd.instance.runDir, { recursive: true });
    writeProcessFile(kubeletPidFile(this.containerd.instance), child.pid);
    this.#record = describeProcess(child.pid);
    this.#child = child;
    return child;
  }

  /** Starts a second process with the same arguments, for tests of the lock. Resolves with its result. */
  async spawnSecond(): Promise<CliResult> {
    return this.#run(this.#arguments);
  }

  /** Starts it, waits until it answers, and follows its pods. */
  async start(): Promise<void> {
    this.spawn();
    const up = await waitUntil(() => !isAlive(this.#record) || this.#opened(), PATIENCE_MS);
    if (!up || !isAlive(this.#record))
      throw new Error(`the agent did not come up; the end of its log:\n${lastLines(this.logFile, 25)}`);
  }

  /** Resolves when the socket of this run answers. */
  async #opened(): Promise<boolean> {
    return this.watch.open(this.socket).then(
      () => true,
      () => false,
    );
  }

  /** Sends SIGKILL; containers keep running. */
  async kill9(): Promise<void> {
    this.#signal('SIGKILL');
    await this.#gone();
  }

  /** Sends SIGTERM; containers keep running. Returns the exit code. */
  async term(): Promise<number | null> {
    this.#signal('SIGTERM');
    await this.#gone();
    return this.#child?.exitCode ?? null;
  }

  async restart(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    await (signal === 'SIGKILL' ? this.kill9() : this.term());
    await this.start();
  }

  #signal(signal: NodeJS.Signals): void {
    if (isAlive(this.#record)) process.kill(this.#record.pid, signal);
  }

  async #gone(): Promise<void> {
    this.watch.close();
    const record = this.#record;
    if (!(await waitUntil(() => !isAlive(record), 10_000, 2)))
      throw new Error(`the agent did not end within 10 s; the end of its log:\n${lastLines(this.logFile, 15)}`);
    // The exit code comes with the event loop's next turn.
    const child = this.#child;
    await waitUntil(() => child === undefined || child.exitCode !== null || child.signalCode !== null, 1000, 1);
  }

  /** Writes atomically, so that the agent sees the whole file. Several objects are written as several documents. */
  writeManifest(name: string, ...objects: readonly object[]): void {
    this.writeRaw(`${name}.yaml`, objects.map((object) => JSON.stringify(object)).join('\n---\n'));
  }

  /** Writes a file with this name and text. */
  writeRaw(file: string, text: string): void {
    const hidden = join(this.manifestsDir, `.${file}.new`);
    writeFileSync(hidden, text);
    renameSync(hidden, join(this.manifestsDir, file));
    this.#files.add(file);
  }

  removeManifest(...names: readonly string[]): void {
    for (const name of names) rmSync(join(this.manifestsDir, `${name}.yaml`), { force: true });
  }

  /** Waits until the pod of the manifest is accepted; fails with all information that the agent has about it. */
  async waitFor(name: string, what: string, accept: (pod: Pod) => boolean, timeoutMs = PATIENCE_MS): Promise<Pod> {
    const change = await this.watch.until(
      podName(name),
      ({ type, pod }) => type === 'MODIFIED' && accept(pod),
      patientMs(timeoutMs),
    );
    if (change !== undefined) return change.pod;
    throw new Error(`pod ${name}: not ${what} after ${timeoutMs / 1000} s\n${await this.#account(name)}`);
  }

  ready(name: string, timeoutMs?: number): Promise<Pod> {
    return this.waitFor(
      name,
      'ready',
      (pod) => isReady(pod) && pod.metadata.deletionTimestamp === undefined,
      timeoutMs,
    );
  }

  phase(name: string, phase: string, timeoutMs?: number): Promise<Pod> {
    return this.waitFor(name, phase, (pod) => pod.status?.phase === phase, timeoutMs);
  }

  /** Waits until nothing is left of the pod. */
  async gone(name: string, timeoutMs = PATIENCE_MS): Promise<Change> {
    const change = await this.watch.until(podName(name), ({ type }) => type === 'DELETED', patientMs(timeoutMs));
    if (change !== undefined) return change;
    throw new Error(`pod ${name}: not gone after ${timeoutMs / 1000} s\n${await this.#account(name)}`);
  }

  /** Writes a manifest and waits until its pod is ready. */
  async run(manifest: { metadata: { name: string } }, ...more: readonly object[]): Promise<Pod> {
    const { name } = manifest.metadata;
    this.writeManifest(name, ...more, manifest);
    return this.ready(name);
  }

  async remove(...names: readonly string[]): Promise<void> {
    this.removeManifest(...names);
    await Promise.all(names.map((name) => this.gone(name)));
  }

  /** The pod as the agent last reported it. */
  pod(name: string): Pod {
    const change = this.watch.latest(podName(name));
    if (change === undefined) throw new Error(`nothing was heard of pod ${name}`);
    return change.pod;
  }

  async get<T>(path: string): Promise<T> {
    return (await getJson(this.socket, path, patientMs(ANSWER_MS))) as T;
  }

  async pods(): Promise<Pod[]> {
    return (await this.get<{ items?: Pod[] }>('/pods')).items ?? [];
  }

  async explain(name: string): Promise<PodExplanation | undefined> {
    return (await this.get<PodExplanation[]>('/explain')).find((explanation) => explanation.name === podName(name));
  }

  async problems(): Promise<string[]> {
    return (await this.get<{ message: string }[]>('/api/problems')).map((problem) => problem.message);
  }

  /** Waits until the agent's record of a pod contains this, for facts that are not in the status. */
  async explained(
    name: string,
    what: string,
    accept: (explanation: PodExplanation) => boolean,
    timeoutMs = PATIENCE_MS,
  ): Promise<PodExplanation> {
    let explanation: PodExplanation | undefined;
    const found = await waitUntil(
      async () => {
        explanation = await this.explain(name);
        return explanation !== undefined && accept(explanation);
      },
      timeoutMs,
      50,
    );
    if (found && explanation !== undefined) return explanation;
    throw new Error(
      `pod ${name}: explain did not show ${what} within ${timeoutMs / 1000} s\n${await this.#account(name)}`,
    );
  }

  /** Runs a command in a container through the runtime, not through the agent. */
  async inside(name: string, script: string, container?: string): Promise<string> {
    const answer = await this.containerd.cri.runtime.execSync({
      containerId: containerId(this.pod(name), container),
      cmd: ['sh', '-c', script],
      timeout: patientMs(10),
    });
    return (Buffer.from(answer.stdout).toString() + Buffer.from(answer.stderr).toString()).trim();
  }

  /**
   * Resolves when the first process of the container has a handler for SIGTERM. A pod is ready as soon as its process
   * runs, which is before its shell has read the `trap`; until then the kernel drops the signal.
   */
  async handlesSigterm(name: string, container = 'main'): Promise<void> {
    const script = 'until grep -q "^SigCgt:.*[4-7c-f]...$" /proc/1/status; do sleep 0.02; done; echo handled';
    const answer = await this.inside(name, script, container);
    if (answer !== 'handled') throw new Error(`pod ${name}: ${container} has no handler for SIGTERM: ${answer}`);
  }

  /** The newest log file of a container, without the runtime's prefixes. */
  output(name: string, container = 'main'): string {
    const { namespace, uid } = this.pod(name).metadata;
    const folder = join(this.podLogsDir, `${namespace}_${podName(name)}_${uid}`, container);
    const newest = readdirSync(folder)
      .filter((file) => /^\d+\.log$/.test(file))
      .sort((left, right) => parseInt(right) - parseInt(left))[0];
    if (newest === undefined) return '';
    return readFileSync(join(folder, newest), 'utf8')
      .replaceAll(/^\S+ (stdout|stderr) [FP] /gm, '')
      .trim();
  }

  /** Runs `bin/kubelet ARGS` with this agent's socket. */
  cli(...args: readonly string[]): Promise<CliResult> {
    return this.#run(args);
  }

  /** Like `cli`, but returns the running process. */
  cliProcess(...args: readonly string[]): ChildProcess {
    return spawn(this.#program, args, {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...this.#environment, KUBELET_SOCKET: this.socket },
    });
  }

  #run(args: readonly string[]): Promise<CliResult> {
    const child = this.cliProcess(...args);
    let stdout = '';
    let stderr = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.stdin?.end();
    return new Promise((resolve) => child.on('close', (code) => resolve({ code, stdout, stderr })));
  }

  /** Removes all manifests and waits until nothing is left of the pods; the agent keeps running. */
  async clear(timeoutMs = PATIENCE_MS): Promise<void> {
    for (const file of readdirSync(this.manifestsDir))
      rmSync(join(this.manifestsDir, file), { recursive: true, force: true });
    const empty = await waitUntil(async () => (await this.pods()).length === 0, timeoutMs, 20);
    if (!empty)
      throw new Error(
        `pods are not gone after ${timeoutMs / 1000} s: ${(await this.pods()).map((pod) => pod.metadata.name).join(', ')}\n${await this.#account()}`,
      );
  }

  /** Removes all pods, checks that nothing is left of them, and stops the agent. */
  async stop(): Promise<void> {
    if (!this.running) await this.start();
    try {
      await this.clear();
      await this.assertNoLeftovers();
    } finally {
      this.watch.close();
      await stopProcess(this.#record, 5000);
    }
  }

  /**
   * Checks, after all pods were removed, that no containers, sandboxes, folders, cgroups, mounts and processes are
   * left.
   */
  async assertNoLeftovers(): Promise<void> {
    const folders = (path: string): string[] => (existsSync(path) ? readdirSync(path) : []);
    const findLeft = async (): Promise<string[]> => {
      const [{ items }, { containers }] = await Promise.all([
        this.containerd.cri.runtime.listPodSandbox({}),
        this.containerd.cri.runtime.listContainers({}),
      ]);
      return [
        ...items.map((item) => `sandbox ${item.metadata?.name}`),
        ...containers.map((item) => `container ${item.metadata?.name}`),
        ...folders(join(this.rootDir, 'pods')).map((name) => `pod folder ${name}`),
      ];
    };
    // What a gone pod left in the runtime is removed right behind the announcement.
    let left: string[] = [];
    await waitUntil(async () => (left = await findLeft()).length === 0, 10_000, 50);
    assert.deepEqual(left, [], `left behind\n${lastLines(this.logFile, 20)}`);
    await assertNoPodLeftovers(this.containerd);
  }

  async #account(name?: string): Promise<string> {
    const explanations = await this.get<PodExplanation[]>('/explain').catch(() => []);
    const wanted = explanations.filter((explanation) => name === undefined || explanation.name === podName(name));
    const latest = name === undefined ? undefined : this.watch.latest(podName(name));
    return [
      ...wanted.map((explanation) => explanationText(explanation, Date.now(), true)),
      ...(await this.problems().catch(() => [])),
      `last status: ${JSON.stringify(latest === undefined ? 'none' : { type: latest.type, deletion: latest.pod.metadata.deletionTimestamp, ...latest.pod.status })}`,
      `the end of the agent's log:\n${lastLines(this.logFile, 12)}`,
    ].join('\n');
  }
}

/** The name of a static pod has the node's name as its suffix. */
export const podName = (manifestName: string): string => `${manifestName}-${NODE}`;
