// A private Docker Engine with the dockershim, in place of containerd: `KUBELET_TEST_RUNTIME=docker` runs the
// integration tests on it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasSysResource } from '../../../src/base/capabilities.ts';
import { machineEnvironment, runCommand, tryCommand } from '../../../src/up/commands.ts';
import { accepts, startOwnContainerd } from '../../../src/up/containerd.ts';
import { readBusybox } from '../../../src/up/image-store.ts';
import { PAUSE_IMAGE, standardImages } from '../../../src/up/images/catalogue.ts';
import type { OciImage } from '../../../src/up/images/oci-image.ts';
import { writeDockerArchive } from '../../../src/up/images/oci-image.ts';
import type { Instance } from '../../../src/up/instance.ts';
import { deriveInstance } from '../../../src/up/instance.ts';
import type { ProcessRecord } from '../../../src/up/processes.ts';
import { describeProcess, isAlive, signalProcess, stopProcess } from '../../../src/up/processes.ts';
import { tearDown } from '../../../src/up/teardown.ts';
import { builtProgram } from './agent-build.ts';
import { TestContainerd, testCgroupDriver } from './containerd.ts';
import type { TestContainerdOptions } from './containerd.ts';
import { waitUntil } from './patience.ts';

type Handlers = NonNullable<TestContainerdOptions['handlers']>;

const START_TIMEOUT_MS = 60_000;

/** Docker's folders, below the folder of the test. */
const dockerPlaces = (instance: Instance) => ({
  socket: join(instance.runDir, 'docker.sock'),
  root: join(instance.dataDir, 'docker'),
  state: join(instance.runDir, 'docker'),
  /** The folder of containerd. As in Docker's packages, containerd is a service of its own, so it outlives dockerd. */
  containerd: join(instance.runDir, 'containerd.sock'),
  log: join(instance.dataDir, 'docker.log'),
  shimLog: join(instance.dataDir, 'dockershim.log'),
  shimRoot: join(instance.dataDir, 'dockershim'),
});

/** dockerd keeps containers when it ends (`live-restore`), as containerd does, so the same tests kill both. */
export class TestDocker extends TestContainerd {
  readonly #handlers: Handlers;
  #docker: ProcessRecord;
  #shim: ProcessRecord;

  constructor(
    instance: Instance,
    programs: { readonly docker: ProcessRecord; readonly shim: ProcessRecord },
    handlers: Handlers,
  ) {
    super(instance, {
      majorVersion: 20,
      minorVersion: 10,
      maySetOomScore: maySetOomScore(),
      snapshotter: 'overlayfs',
      cniBinDir: '',
      sandboxImage: PAUSE_IMAGE,
    });
    this.#handlers = handlers;
    this.#docker = programs.docker;
    this.#shim = programs.shim;
  }

  get dockerEndpoint(): string {
    return `unix://${dockerPlaces(this.instance).socket}`;
  }

  override get shimsSocket(): string {
    return dockerPlaces(this.instance).containerd;
  }

  override get pid(): number {
    return this.#docker.pid;
  }

  override async importImages(images: readonly OciImage[]): Promise<void> {
    const archive = join(this.instance.dataDir, 'images.tar');
    writeFileSync(archive, writeDockerArchive(images));
    await this.docker('load', '--quiet', '--input', archive);
    rmSync(archive);
  }

  /** Ends dockerd and the shim; containers keep running. */
  override async kill(signal: 'SIGTERM' | 'SIGKILL' = 'SIGKILL'): Promise<void> {
    for (const record of [this.#docker, this.#shim]) {
      signalProcess(record, signal);
      await stopProcess(record, 20_000);
    }
  }

  override async start(): Promise<void> {
    this.#docker = await launchDocker(this.instance, this.#handlers);
    this.#shim = await launchShim(this.instance);
  }

  /** Ends the shim, for an agent with its own shim on the same socket. */
  async leaveShimToAgent(): Promise<void> {
    await stopProcess(this.#shim, 10_000);
  }

  /** The arguments for an agent with its own shim. */
  get agentArguments(): readonly string[] {
    return [
      '--container-runtime=docker',
      `--docker-endpoint=${this.dockerEndpoint}`,
      `--pod-infra-container-image=${PAUSE_IMAGE}`,
      '--network-plugin=cni',
      `--cni-conf-dir=${this.instance.cniConfDir}`,
    ];
  }

  /** Runs the docker program with this engine. */
  docker(...args: readonly string[]): Promise<string> {
    return runCommand(['docker', '--host', this.dockerEndpoint, ...args]);
  }

  /** Restarts only dockerd; the shim must reconnect. */
  async restartDocker(signal: 'SIGTERM' | 'SIGKILL' = 'SIGKILL'): Promise<void> {
    signalProcess(this.#docker, signal);
    await stopProcess(this.#docker, 20_000);
    this.#docker = await launchDocker(this.instance, this.#handlers);
  }

  override async stop(): Promise<void> {
    signalProcess(this.#docker, 'SIGCONT');
    if (!isAlive(this.#shim)) this.#shim = await launchShim(this.instance);
    if (isAlive(this.#docker)) {
      const { items } = await this.cri.runtime.listPodSandbox({});
      await Promise.all(items.map(({ id }) => this.cri.runtime.stopPodSandbox({ podSandboxId: id })));
      await Promise.all(items.map(({ id }) => this.cri.runtime.removePodSandbox({ podSandboxId: id })));
    }
    this.cri.close();
    await this.kill('SIGTERM');
    const left = await tearDown(this.instance, { purge: true, say: () => undefined });
    assert.deepEqual(left, [], 'Docker left something behind');
    rmSync(this.instance.dataDir, { recursive: true, force: true });
  }
}

/** The file's `after` hook must call `stop()`. */
export async function startDocker(options: TestContainerdOptions): Promise<TestDocker> {
  assert.equal(testCgroupDriver(), 'cgroupfs', 'the tests on Docker use its cgroup driver cgroupfs');
  const folder = realpathSync(mkdtempSync(join(tmpdir(), `kts-${options.name}-`)));
  chmodSync(folder, 0o711);
  const derived = deriveInstance(folder);
  const instance = { ...derived, containerdSocket: join(derived.runDir, 'shim.sock') };
  for (const made of [instance.runDir, instance.podLogsDir]) mkdirSync(made, { recursive: true });
  const containerd = { ...derived, containerdSocket: dockerPlaces(instance).containerd };
  // First check what may be missing, before anything runs.
  const images = [...standardImages(process.arch, await readBusybox()), ...(options.images ?? [])];
  await startOwnContainerd(containerd, (message) => console.error(message));
  const handlers = options.handlers ?? {};
  const programs = { docker: await launchDocker(instance, handlers), shim: await launchShim(instance) };
  const docker = new TestDocker(instance, programs, handlers);
  try {
    await docker.importImages(images);
  } catch (error) {
    await docker.stop();
    throw error;
  }
  return docker;
}

async function launchDocker(instance: Instance, handlers: Handlers): Promise<ProcessRecord> {
  const { socket, root, state, containerd, log } = dockerPlaces(instance);
  const pidFile = join(instance.runDir, 'docker.pid');
  rmSync(pidFile, { force: true });
  const record = await launch(
    [
      'dockerd',
      `--host=unix://${socket}`,
      `--data-root=${root}`,
      `--exec-root=${state}`,
      `--containerd=${containerd}`,
      `--pidfile=${pidFile}`,
      '--bridge=none',
      '--iptables=false',
      '--ip6tables=false',
      '--live-restore',
      ...Object.entries(handlers).map(([name, program]) => `--add-runtime=${name}=${program}`),
    ],
    { log, socket },
  );
  // It listens before it serves.
  const answers = async (): Promise<boolean> =>
    (await tryCommand(['docker', '--host', `unix://${socket}`, 'version'])).code === 0;
  assert.ok(await waitUntil(answers, START_TIMEOUT_MS, 100), 'dockerd does not answer');
  return record;
}

async function launchShim(instance: Instance): Promise<ProcessRecord> {
  const { socket, shimLog, shimRoot } = dockerPlaces(instance);
  rmSync(instance.containerdSocket, { force: true });
  return launch(
    [
      await builtProgram('dockershim'),
      `--docker-endpoint=unix://${socket}`,
      `--container-runtime-endpoint=unix://${instance.containerdSocket}`,
      `--root-dir=${shimRoot}`,
      `--pod-infra-container-image=${PAUSE_IMAGE}`,
      `--cni-conf-dir=${instance.cniConfDir}`,
    ],
    { log: shimLog, socket: instance.containerdSocket },
  );
}

const maySetOomScore = (): boolean => hasSysResource(readFileSync('/proc/self/status', 'utf8'));

async function launch(
  [program = '', ...args]: readonly string[],
  { log, socket }: { readonly log: string; readonly socket: string },
): Promise<ProcessRecord> {
  const file = openSync(log, 'a');
  const child = spawn(program, args, { detached: true, stdio: ['ignore', file, file], env: machineEnvironment() });
  closeSync(file);
  child.unref();
  const serves = await waitUntil(async () => child.exitCode !== null || (await accepts(socket)), START_TIMEOUT_MS, 20);
  const record = child.pid === undefined ? undefined : describeProcess(child.pid);
  if (!serves || child.exitCode !== null || record === undefined)
    throw new Error(`${program} did not start:\n${readFileSync(log, 'utf8').slice(-2000)}`);
  return record;
}
