import type { LogFields, Logger } from '../../src/base/log.ts';
import { errorMessage, KubeletError } from '../../src/base/errors.ts';
import { seededRandom } from '../../src/base/random.ts';
import { FakeClock } from '../../src/base/testing/fake-clock.ts';
import type { Kubelet } from '../../src/kubelet/cmd/compose/compose-kubelet.ts';
import { composeKubelet } from '../../src/kubelet/cmd/compose/compose-kubelet.ts';
import type { ComposeSettings } from '../../src/kubelet/cmd/compose/compose-settings.ts';
import { composeRecords } from '../../src/kubelet/cmd/compose/compose-records.ts';
import type { Platform } from '../../src/kubelet/cmd/compose/platform.ts';
import { applyDefaults } from '../../src/kubelet/model/config/defaults.ts';
import { computeFeatureGates } from '../../src/kubelet/model/config/feature-gates.ts';
import type { KubeletConfig } from '../../src/kubelet/model/config/kubelet-config.ts';
import { toKubeletConfig } from '../../src/kubelet/model/config/kubelet-config.ts';
import type { NodeStatsSources } from '../../src/kubelet/ports/stats.ts';
import type { PluginConnection, PluginInfo } from '../../src/kubelet/ports/plugin-dial.ts';
import { FakeCgroups } from '../../src/kubelet/ports/testing/fake-cgroups.ts';
import { FakeDevicePlugins } from '../../src/kubelet/ports/testing/fake-device-plugins.ts';
import { FakeCsiDrivers } from '../../src/kubelet/ports/testing/fake-csi-drivers.ts';
import { FakeHostFiles } from '../../src/kubelet/ports/testing/fake-host-files.ts';
import { FakeLoginManager } from '../../src/kubelet/ports/testing/fake-login-manager.ts';
import { FakeLogFiles } from '../../src/kubelet/ports/testing/fake-log-files.ts';
import { FakeMounts } from '../../src/kubelet/ports/testing/fake-mounts.ts';
import type { FakeRuntimeClient } from '../../src/kubelet/ports/testing/fake-runtime-client.ts';
import type { FakeRuntimeOptions } from '../../src/kubelet/ports/testing/fake-runtime-node.ts';
import { SimulatedApi } from './cluster-api.ts';
import { ContainerModel } from './containers.ts';
import type { DeathPoint, Gate } from './killable.ts';
import {
  Life,
  killableCgroups,
  killableClock,
  killableEvents,
  killableFiles,
  killableLogin,
  killablePort,
} from './killable.ts';
import { SimulatedNetwork } from './network.ts';
import { SimulatedRuntime } from './runtime.ts';

export const paths = {
  root: '/var/lib/kubelet',
  manifests: '/etc/kubernetes/manifests',
  logs: '/var/log/pods',
  state: '/var/lib/kubelet/agent-state',
  hostData: '/srv/data',
};
export const NODE_NAME = 'sim';
export const IMAGES = ['docker.io/library/app:1', 'docker.io/library/app:2', 'docker.io/library/tool:1'];
const LOG_LINES = 4000;
/** As with systemd: an agent that failed to start is started again after this time. */
const RESTART_MS = 1000;
/** More than any scenario has, so no pod is rejected because of their number. */
const MOST_PODS = 300;

export interface LogRecord {
  readonly atMs: number;
  readonly agent: string;
  readonly level: string;
  readonly message: string;
  readonly fields: LogFields;
}

/** One agent process. */
export interface Agent {
  readonly name: string;
  readonly life: Life;
  readonly client: FakeRuntimeClient;
  readonly startedMs: number;
  /** Undefined while it reads its records. */
  kubelet: Kubelet | undefined;
  /** Whether its start has completed. */
  started: boolean;
  stopping: Promise<void> | undefined;
}

export interface NodeOptions {
  readonly seed: number;
  readonly runtime?: Partial<FakeRuntimeOptions>;
  readonly config?: Record<string, unknown>;
  /** Whether the node belongs to a cluster. */
  readonly cluster?: boolean;
  /** The statistics of the machine; without them nothing is evicted. */
  readonly stats?: NodeStatsSources;
}

/** A machine in memory on which agents start, are killed and start again. Containers, files and mounts survive. */
export class SimulatedNode {
  readonly clock = new FakeClock();
  readonly runtime: SimulatedRuntime;
  readonly files: FakeHostFiles;
  readonly mounts: FakeMounts;
  readonly cgroups = new FakeCgroups();
  readonly csiDrivers = new FakeCsiDrivers();
  readonly login = new FakeLoginManager(this.clock);
  readonly devicePlugins = new FakeDevicePlugins();
  /** The plugins that listen at sockets below plugins_registry. */
  readonly plugins = new Map<string, PluginInfo>();
  readonly model: ContainerModel;
  readonly network: SimulatedNetwork;
  /** undefined on a standalone node. */
  readonly api: SimulatedApi | undefined;
  readonly config: KubeletConfig;
  readonly logs: LogRecord[] = [];
  /** Errors of the agent process itself: uncaught errors and failed starts. */
  readonly agentErrors: string[] = [];
  /** Called with each new agent before it starts anything. */
  onAgent: ((agent: Agent, kubelet: Kubelet) => void) | undefined;
  onAgentEnd: ((agent: Agent) => void) | undefined;
  /** Called before every call to the outside; see killable.ts. */
  gate: Gate = () => undefined;
  agent: Agent | undefined;
  /** When the previous agent ended. */
  lastEndMs = -1;
  readonly #seed: number;
  readonly #stats: NodeStatsSources | undefined;
  #generations = 0;

  constructor(options: NodeOptions) {
    this.#seed = options.seed;
    this.#stats = options.stats;
    this.runtime = new SimulatedRuntime({
      clock: this.clock,
      seed: options.seed,
      images: IMAGES,
      jitterFactor: 0.3,
      ...options.runtime,
    });
    this.files = new FakeHostFiles(this.clock);
    this.mounts = new FakeMounts(this.files);
    this.cgroups.inhabitants = (name) => this.runtime.inhabitants(/\/pod([^/]+)$/.exec(name)?.[1] ?? '');
    this.model = new ContainerModel(() => this.clock.monotonicMs());
    this.network = new SimulatedNetwork(this.clock, this.runtime, this.model);
    this.api = options.cluster === true ? new SimulatedApi(this.clock, options.seed) : undefined;
    this.config = simulatedConfig(options.config ?? {});
    this.runtime.behaviour(
      () => true,
      (identity) => this.model.script(identity),
    );
    const { journal } = this.runtime;
    const process = journal.process.bind(journal);
    journal.process = (entry) => {
      process(entry);
      const container = entry.what === 'started' ? this.runtime.containerById(entry.id) : undefined;
      if (container === undefined) return;
      this.model.noteStart(container.script);
      this.files.seed({ [`${container.sandbox.config.logDirectory}/${container.config.logPath}`]: 'a line\n' });
      const scratch = container.config.mounts.find(({ containerPath }) => containerPath === '/mnt/scratch');
      if (container.config.name === 'init0' && scratch !== undefined)
        this.files.seed({ [`${scratch.hostPath}/vars`]: "KEY='value'\n" });
    };
    this.files.seed({
      [`${paths.manifests}/.keep`]: '',
      '/etc/resolv.conf': 'nameserver 10.0.0.2\n',
      [`${paths.hostData}/file`]: 'x',
      '/var/log/containers/.keep': '',
    });
  }

  /**
   * Kills the agent at its `step`th call from now on whose name matches `calls`; the next one starts half a second
   * later. Returns whether that has happened yet.
   */
  dieAt({ calls, step, point }: { calls: RegExp; step: number; point: DeathPoint }): () => boolean {
    let left = step;
    this.gate = (_port, method) => {
      if (!calls.test(method) || --left > 0) return undefined;
      this.gate = () => undefined;
      this.clock.setTimer(500, () => {
        if (this.agent === undefined) this.start();
      });
      return point;
    };
    return () => left <= 0;
  }

  /** Starts a new agent process; advance the time to let it work. */
  start(): Agent {
    const name = `agent-${++this.#generations}`;
    const agent: Agent = {
      name,
      life: new Life(),
      client: this.runtime.client(name),
      startedMs: this.clock.monotonicMs(),
      kubelet: undefined,
      started: false,
      stopping: undefined,
    };
    this.agent = agent;
    agent.life.onEnd(() => {
      agent.client.kill();
      this.lastEndMs = this.clock.monotonicMs();
      if (this.agent === agent) this.agent = undefined;
      this.onAgentEnd?.(agent);
    });
    this.#boot(agent).catch((error: unknown) => {
      if (!agent.life.alive) return;
      this.agentErrors.push(`${name} did not start: ${errorMessage(error)}`);
      agent.life.end();
      this.clock.setTimer(RESTART_MS, () => {
        if (this.agent === undefined) this.start();
      });
    });
    return agent;
  }

  /** Ends the agent as kill -9 does. */
  kill(): void {
    this.agent?.life.end();
  }

  /**
   * Ends the agent as SIGTERM does, which takes time. Does nothing to an agent that is still starting or already
   * ending.
   */
  terminate(): Promise<void> {
    const { agent } = this;
    if (agent?.kubelet === undefined || !agent.started) {
      agent?.life.end();
      return Promise.resolve();
    }
    agent.stopping ??= agent.kubelet.stop().then(() => agent.life.end());
    return agent.stopping;
  }

  /** The living agent, if it has finished starting. */
  get kubelet(): Kubelet | undefined {
    return this.agent?.started === true && this.agent.stopping === undefined ? this.agent.kubelet : undefined;
  }

  async #boot(agent: Agent): Promise<void> {
    const world = this.#worldOf(agent);
    const records = await composeRecords(paths.root, world);
    const kubelet = composeKubelet(simulatedSettings(this.config), world, records);
    agent.kubelet = kubelet;
    this.onAgent?.(agent, kubelet);
    await kubelet.start();
    agent.started = true;
  }

  #worldOf(agent: Agent): Platform {
    const { life, client } = agent;
    const gate: Gate = (port, method, target) => (life.alive ? this.gate(port, method, target) : undefined);
    const client_ = killablePort('runtime', client, life, gate);
    const files = killableFiles(this.files, life, gate);
    return {
      ...(this.api === undefined ? {} : { cluster: this.api.clusterOf(life, gate) }),
      clock: killableClock(this.clock, life),
      random: seededRandom(this.#seed * 1000 + this.#generations),
      log: this.#logOf(agent, {}),
      runtime: client_,
      images: client_,
      eventSources: [
        killableEvents(client.eventSource('cri'), life),
        killableEvents(client.eventSource('containerd'), life),
      ],
      files,
      guardedFiles: files,
      mounts: killablePort('mounts', this.mounts, life, gate),
      cgroups: killableCgroups(this.cgroups, life, gate),
      dial: killablePort('dial', this.network, life, gate),
      loginManager: killableLogin(this.login, life),
      nodeLoad: () => undefined,
      processes: { run: runProgram },
      csiDrivers: { node: (endpoint) => killablePort('csi', this.csiDrivers.node(endpoint), life, gate) },
      devicePlugins: this.devicePlugins.forProcess(life),
      pluginDial: killablePort('plugins', { dial: (path: string) => this.#dialPlugin(path) }, life, gate),
      logFiles: new FakeLogFiles(this.files),
      disk: { diskUsage: () => Promise.resolve({ capacityBytes: 100 * 2 ** 30, availableBytes: 60 * 2 ** 30 }) },
      machine: {
        nodeName: NODE_NAME,
        cores: 4,
        onlineCpus: [0, 1, 2, 3],
        architecture: 'amd64',
        rootStorageBytes: 100 * 2 ** 30,
        hugePages: [],
        memoryBytes: 8 * 2 ** 30,
        swapBytes: 0,
        hugePageSizes: [],
        hugePageSizesBytes: [],
        thermalThrottlePaths: [],
        selinuxEnabled: false,
        appArmorEnabled: false,
        kernelVersion: '6.12.0',
        machineId: 'm',
        systemUuid: 's',
        bootId: 'b',
        osImage: 'Simulated Linux',
        bootedAtMs: undefined,
        workingDir: '/',
        homeDir: '/root',
        addresses: ['192.0.2.1'],
      },
      runtimeName: 'containerd',
      ...(this.#stats !== undefined && { stats: this.#stats }),
    };
  }

  async #dialPlugin(path: string): Promise<PluginConnection> {
    const info = this.plugins.get(path);
    if (info === undefined) throw new KubeletError('Timeout', `there is no listener at ${path}`);
    return {
      getInfo: () => Promise.resolve(info),
      notifyRegistrationStatus: () => Promise.resolve(),
      close: () => undefined,
    };
  }

  #logOf(agent: Agent, base: LogFields): Logger {
    const add = (level: string, message: string, fields: LogFields = {}): void => {
      if (!agent.life.alive) return;
      this.logs.push({
        atMs: this.clock.monotonicMs(),
        agent: agent.name,
        level,
        message,
        fields: { ...base, ...fields },
      });
      if (this.logs.length > LOG_LINES * 2) this.logs.splice(0, LOG_LINES);
    };
    return {
      error: (message, fields) => add('error', message, fields),
      warn: (message, fields) => add('warn', message, fields),
      info: (message, fields) => add('info', message, fields),
      debug: () => undefined,
      with: (fields) => this.#logOf(agent, { ...base, ...fields }),
    };
  }

  /** Drops the records of calls that fakes keep for other tests and that would only grow here. */
  forgetCalls(): void {
    this.files.calls.length = 0;
    this.cgroups.calls.length = 0;
  }
}

/** The user `kubelet` has exactly as many ids as there may be pods. */
async function runProgram(program: string): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  const outputs: Readonly<Record<string, string>> = {
    getent: 'kubelet:x:900:900::/:/bin/false\n',
    getsubids: `0: kubelet 65536 ${65_536 * MOST_PODS}\n`,
  };
  const stdout = outputs[program];
  if (stdout === undefined) throw new KubeletError('NotFound', `${program} could not be started: ENOENT`);
  return { exitCode: 0, stdout, stderr: '' };
}

function simulatedConfig(given: Record<string, unknown>): KubeletConfig {
  const { gates } = computeFeatureGates((given['featureGates'] ?? {}) as Record<string, boolean>);
  return toKubeletConfig(
    applyDefaults(
      {
        staticPodPath: paths.manifests,
        podLogsDir: paths.logs,
        clusterDNS: ['10.0.0.10'],
        maxPods: MOST_PODS,
        ...given,
      },
      () => false,
    ),
    gates,
  );
}

function simulatedSettings(config: KubeletConfig): ComposeSettings {
  return {
    config,
    rootDir: paths.root,
    manifestServer: false,
    containerGc: { minAgeMs: 0, maxPerContainer: 1, maxTotal: -1 },
    credentialProviders: [],
    credentialProviderBinDir: '',
  };
}
