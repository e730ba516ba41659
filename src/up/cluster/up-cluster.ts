/** A cluster of one node: everything that does not wait for something else is started at once. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { systemClock } from '../../base/clock.ts';
import { runtimeClasses, services, storageClasses } from '../../api/client/resource-types.ts';
import { freePort, kubeletProgram, programPath, RESOLVED_CONF, nodeNameArguments, writeAgentConfig } from '../agent.ts';
import { readBusybox, readDynamicBusybox, readNginx } from '../image-store.ts';
import { dynamicBusyboxImage, nginxImage } from '../images/debian-images.ts';
import type { Registry } from '../images/registry-push.ts';
import { prepareNodePage } from '../node-page.ts';
import type { NodePageFacts } from '../node-page.ts';
import type { Instance } from '../instance.ts';
import { checkSocketPaths, DEFAULT_DATA_DIR, deriveInstance } from '../instance.ts';
import { allowLoopbackNodePorts, claimPodRange, claimServiceRange, keepBridgeUp, setUpNetwork } from '../network.ts';
import { enterNode } from '../node-space.ts';
import type { PodView } from '../progress.ts';
import type { CgroupDriver, ContainerdFacts } from '../runtime-config.ts';
import type { RuntimeHandlers } from '../runtime-handlers.ts';
import { runtimeClassesOf } from '../runtime-handlers.ts';
import { addressInRange } from '../subnet.ts';
import { controlPlanePidFile, kubeletPidFile, nodeNetworkPidFile, nodeStoragePidFile } from '../teardown.ts';
import type { ClusterClient } from './cluster-client.ts';
import {
  applyObjects,
  createMissing,
  exists,
  followPods,
  openClusterClient,
  whenAvailable,
  whenNodeReady,
} from './cluster-client.ts';
import {
  bootstrapTokenSecret,
  defaultStorageClass,
  DNS_PORT,
  nameService,
  nodeNetworkRights,
  nodeStorageRights,
} from './cluster-objects.ts';
import type { ClusterRecord } from './cluster-record.ts';
import { chooseClusterRecord, readClusterRecord, writeClusterRecord } from './cluster-record.ts';
import { podLine, renderSummary, stepLine } from './cluster-view.ts';
import {
  agentConfig,
  authorityFile,
  bootstrapConfig,
  ensureClusterAuthority,
  ensureProgramConfigs,
  newBootstrapToken,
  writeBootstrapConfig,
} from './credentials.ts';
import type { LocalNode, LocalNodeFacts } from './local-node.ts';
import { startLocalPrograms, startLocalRuntime } from './local-node.ts';
import type { Program, RunningProgram } from './program.ts';
import { keepRunning } from './program.ts';
import { prepareRegistry, publish } from './registry.ts';
import { startNodeRuntime } from './runtime.ts';
import { applyExample, exampleDeployment, exampleService, whenServed } from './seed.ts';

export interface UpClusterOptions {
  /** A runtime given from outside; absent means our own. */
  readonly endpoint: string | undefined;
  readonly cgroupDriver: CgroupDriver;
  readonly runtimeHandlers: RuntimeHandlers;
  readonly dns: boolean;
  readonly serviceRouting: boolean;
  readonly networkPolicy: boolean;
  readonly storage: boolean;
  readonly example: boolean;
  readonly nodeName: string | undefined;
  /** Nodes in namespaces of their own; undefined: the machine is the node. */
  readonly nodes: number | undefined;
  /** For the agent, behind our own arguments. */
  readonly agentArgs: readonly string[];
  /** For the control plane, behind our own arguments. */
  readonly controlPlaneArgs: readonly string[];
  readonly detached: boolean;
  readonly stopCommand: string;
  readonly say: (message: string) => void;
}

/** The tenth address, as kubeadm has it. */
const DNS_INDEX = 10;

/**
 * Resolves when the cluster serves (with the programs being looked after until `signal` aborts), rejects when it
 * cannot.
 */
export async function upCluster(instance: Instance, options: UpClusterOptions, signal: AbortSignal): Promise<void> {
  const start = new ClusterStart(instance, options, signal);
  await start.run();
}

class ClusterStart {
  readonly #instance: Instance;
  readonly #options: UpClusterOptions;
  readonly #signal: AbortSignal;
  readonly #clock: Clock = systemClock;
  readonly #startMs = systemClock.monotonicMs();
  readonly #nodeName: string;

  constructor(instance: Instance, options: UpClusterOptions, signal: AbortSignal) {
    this.#instance = instance;
    this.#options = options;
    this.#signal = signal;
    this.#nodeName = options.nodeName ?? hostname().toLowerCase();
  }

  async run(): Promise<void> {
    const record = await this.#prepare();
    const { subnet, apiPort } = record;
    const nodes = this.#localNodes(record);
    const registryHost = `${this.#registryAddress(subnet.gateway)}:${record.registryPort}`;
    const server = `https://${subnet.gateway}:${apiPort}`;
    const registry = await prepareRegistry(this.#instance, registryHost);
    const programs = { registry: this.#start(registry.program), controlPlane: this.#start(this.#controlPlane(record)) };
    // The first waiter reports the failure.
    const images = this.#publishImages(programs.registry, registry.access);
    const runtime = nodes.length === 0 ? this.#startRuntime() : this.#startLocalRuntimes(nodes, record);
    const cluster = this.#prepareCluster(programs.controlPlane, record, server);
    for (const each of [images, runtime, cluster]) each.catch(() => undefined);
    const [facts, client] = await Promise.all([runtime, cluster]);
    try {
      if (nodes.length > 0) return await this.#startLocalNodes(nodes, record, { client, images });
      const page = await prepareNodePage(this.#instance, subnet.gateway);
      const kubelet = await this.#prepareAgent(record);
      const network = this.#startNodeNetwork(record, [kubelet.port, page.port]);
      const storage = this.#startNodeStorage();
      this.#startAgent(record, page);
      await Promise.all([images, network?.ready, storage?.ready]);
      const example = await this.#waitForPods(client);
      this.#options.say(
        renderSummary({
          nodeName: this.#nodeName,
          runtime:
            facts === undefined
              ? (this.#options.endpoint ?? '')
              : `containerd ${facts.majorVersion}.${facts.minorVersion}`,
          apiUrl: server,
          page,
          kubeletUrl: `https://${subnet.gateway}:${kubelet.port}`,
          clusterDns: this.#options.dns ? addressInRange(record.serviceRange, DNS_INDEX) : undefined,
          serviceRange: this.#options.serviceRouting ? record.serviceRange : undefined,
          storageDir: this.#options.storage ? this.#instance.storageDir : undefined,
          registry: registryHost,
          example,
          dataDir: this.#instance.dataDir,
          adminConfig: this.#instance.adminConfig,
          stop: this.#options.stopCommand,
          detached: this.#options.detached,
        }).join('\n'),
      );
    } finally {
      client.close();
    }
  }

  /** Network first: its gateway is the address of everything. */
  async #prepare(): Promise<ClusterRecord> {
    const instance = this.#instance;
    checkSocketPaths(instance);
    for (const folder of [instance.runDir, instance.controlPlaneDir, instance.staticPodsDir, instance.registryCertsDir])
      mkdirSync(folder, { recursive: true });
    await ensureClusterAuthority(instance);
    const before = readClusterRecord(instance);
    const subnet = await setUpNetwork(instance, this.#options.say, before?.subnet);
    await keepBridgeUp(instance);
    const serviceRange = await claimServiceRange(instance, before?.serviceRange, subnet.gateway);
    const podRange =
      this.#options.nodes === undefined ? before?.podRange : await claimPodRange(instance, before?.podRange);
    const registryAddress = this.#registryAddress(subnet.gateway);
    const record = await chooseClusterRecord(before, { subnet, serviceRange, podRange, registryAddress, freePort });
    writeClusterRecord(instance, record);
    return record;
  }

  /** Nodes in networks of their own do not reach the loopback network of the machine. */
  #registryAddress(gateway: string): string {
    return this.#options.nodes === undefined ? this.#instance.loopback : gateway;
  }

  /** `NAME-1` with the second address of the bridge, and so on. */
  #localNodes({ subnet }: ClusterRecord): LocalNode[] {
    return Array.from({ length: this.#options.nodes ?? 0 }, (_, at) => {
      const name = `${this.#nodeName}-${at + 1}`;
      const instance = deriveInstance(join(this.#instance.nodesDir, `${at + 1}`));
      const enter = enterNode(instance, name);
      // Its network is its own: no other cluster is on its loopback address.
      const own = { ...instance, enter, loopback: '127.0.0.1' };
      return { name, instance: own, address: addressInRange(subnet.cidr, at + 2) };
    });
  }

  #localFacts({ subnet, serviceRange, podRange = '' }: ClusterRecord): LocalNodeFacts {
    const { cgroupDriver, runtimeHandlers, say, serviceRouting, networkPolicy, storage, agentArgs, dns } =
      this.#options;
    return {
      ...{
        cgroupDriver,
        runtimeHandlers,
        say,
        signal: this.#signal,
        serviceRouting,
        networkPolicy,
        storage,
        agentArgs,
      },
      ...{ cluster: this.#instance, gateway: subnet.gateway, prefixLength: subnet.prefixLength },
      ...{ podRange, serviceRange, clusterDns: dns ? [addressInRange(serviceRange, DNS_INDEX)] : [] },
      start: (program) => this.#start(program),
    };
  }

  #nodeNames(record: ClusterRecord): readonly string[] {
    const names = this.#localNodes(record).map(({ name }) => name);
    return names.length > 0 ? names : [this.#nodeName];
  }

  /** Side by side. */
  async #startLocalRuntimes(nodes: readonly LocalNode[], record: ClusterRecord): Promise<undefined> {
    for (const { instance } of nodes) checkSocketPaths(instance);
    await Promise.all(nodes.map((node) => startLocalRuntime(node, this.#localFacts(record))));
    this.#done(`${nodes.length} runtimes run`);
  }

  async #startLocalNodes(
    nodes: readonly LocalNode[],
    record: ClusterRecord,
    { client, images }: { readonly client: ClusterClient; readonly images: Promise<void> },
  ): Promise<void> {
    const network = this.#startNodeNetwork(record, []);
    const programs = nodes.map((node) => startLocalPrograms(node, this.#localFacts(record)));
    await Promise.all([images, network?.ready, ...programs]);
    const example = await this.#waitForPods(
      client,
      nodes.map(({ name }) => name),
    );
    const { adminConfig, dataDir } = this.#instance;
    this.#options.say(
      [
        '',
        ...nodes.map(({ name, address, instance }) => `  node      ${name}, ${address}, files in ${instance.dataDir}`),
        ...(example === undefined ? [] : [`  example   ${example}`]),
        `  data      ${dataDir}`,
        `  kubectl   kubectl --kubeconfig ${adminConfig} get nodes`,
        `  stop      ${this.#options.stopCommand}${this.#options.detached ? '' : ', or Ctrl-C'}`,
      ].join('\n'),
    );
  }

  #start(program: Program): RunningProgram {
    return keepRunning(program, { clock: this.#clock, signal: this.#signal, say: this.#options.say });
  }

  #done(text: string): void {
    this.#options.say(stepLine(this.#clock.monotonicMs() - this.#startMs, text));
  }

  #controlPlane({ subnet, serviceRange, podRange, apiPort }: ClusterRecord): Program {
    const { controlPlaneDir, controlPlaneLog } = this.#instance;
    return {
      name: 'the control plane',
      command: programPath('kubelet-control-plane'),
      args: [
        `--data-dir=${controlPlaneDir}`,
        `--secure-port=${apiPort}`,
        `--bind-address=${subnet.gateway}`,
        `--advertise-address=${subnet.gateway}`,
        `--service-cluster-ip-range=${serviceRange}`,
        ...(podRange === undefined ? [] : ['--allocate-node-cidrs', `--cluster-cidr=${podRange}`]),
        // The name of this machine need not be known to anybody; kubeadm's order.
        '--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname',
        // Nodes ask for what they serve with, as they do for what they prove themselves with; what they then show is
        // checked.
        '--approve-kubelet-serving',
        `--kubelet-certificate-authority=${authorityFile(this.#instance)}`,
        ...this.#options.controlPlaneArgs,
      ],
      log: controlPlaneLog,
      pidFile: controlPlanePidFile(this.#instance),
      ready: '"serving"',
    };
  }

  async #publishImages({ ready }: RunningProgram, access: Registry): Promise<void> {
    const [busybox, dynamicBusybox, nginx] = await Promise.all([readBusybox(), readDynamicBusybox(), readNginx()]);
    const nodeArch = process.arch;
    const images = [
      {
        image: nginxImage({ reference: 'docker.io/library/nginx:latest', nodeArch, busybox }, nginx),
        repository: 'library/nginx',
        tag: 'latest',
      },
      {
        image: dynamicBusyboxImage(
          { reference: 'docker.io/library/busybox:latest', nodeArch, busybox },
          dynamicBusybox,
        ),
        repository: 'library/busybox',
        tag: 'latest',
      },
    ];
    await ready;
    await publish(access, images);
    this.#done(`nginx and busybox are in the registry on ${new URL(access.url).host}`);
  }

  async #startRuntime(): Promise<ContainerdFacts | undefined> {
    const { endpoint: given, cgroupDriver, runtimeHandlers, say } = this.#options;
    const { endpoint, facts } = await startNodeRuntime(this.#instance, {
      endpoint: given,
      cgroupDriver,
      runtimeHandlers,
      network: 'made',
      say,
      signal: this.#signal,
    });
    this.#done(
      facts === undefined
        ? `the runtime on ${endpoint} has the images`
        : `containerd ${facts.majorVersion}.${facts.minorVersion} runs`,
    );
    return facts;
  }

  /** As soon as it serves: what the cluster begins with, and the example, whose pods wait for the node. */
  async #prepareCluster({ ready }: RunningProgram, record: ClusterRecord, server: string): Promise<ClusterClient> {
    await ready;
    this.#done(`the API server serves on ${server}`);
    await ensureProgramConfigs(this.#instance, server);
    const client = openClusterClient(this.#instance.adminConfig);
    const token = newBootstrapToken(this.#clock.nowMs());
    writeBootstrapConfig(this.#instance, { server, ca: readFileSync(authorityFile(this.#instance), 'utf8'), token });
    const { gateway } = record.subnet;
    await applyObjects(client.api, [
      bootstrapTokenSecret(token),
      ...nodeNetworkRights(this.#options.nodes !== undefined),
      ...(this.#options.storage ? nodeStorageRights() : []),
      ...(this.#options.dns ? nameService(addressInRange(record.serviceRange, DNS_INDEX), gateway) : []),
    ]);
    for (const each of runtimeClassesOf(this.#options.runtimeHandlers))
      await createMissing(client.api, runtimeClasses, each);
    if (this.#options.storage)
      await createMissing(client.api, storageClasses, defaultStorageClass(this.#nodeNames(record)));
    if (this.#options.example && !record.seeded) {
      const by = await applyExample(client.api, this.#instance.adminConfig);
      writeClusterRecord(this.#instance, { ...record, seeded: true });
      this.#done(`the example was applied with ${by}`);
    }
    return client;
  }

  /** `nodePorts`: what the agent serves on the node's address. No service takes these ports. */
  #startNodeNetwork(
    { subnet, serviceRange, podRange, apiPort }: ClusterRecord,
    nodePorts: readonly number[],
  ): RunningProgram | undefined {
    const { dns, serviceRouting, nodes } = this.#options;
    const hasPods = nodes === undefined;
    const networkPolicy = this.#options.networkPolicy && hasPods;
    if (!dns && !serviceRouting && !networkPolicy) return undefined;
    const { nodeNetworkConfig, nodeNetworkLog, iptablesChain, bridge } = this.#instance;
    const admitted = [`${apiPort}/tcp`, `${DNS_PORT}/tcp`, `${DNS_PORT}/udp`].map(
      (port) => `--admit=${subnet.gateway}:${port}`,
    );
    const resolvConf = existsSync(RESOLVED_CONF) ? [`--resolv-conf=${RESOLVED_CONF}`] : [];
    return this.#start({
      name: 'the program for names and services',
      command: programPath('kubelet-node-network'),
      args: [
        `--kubeconfig=${nodeNetworkConfig}`,
        `--node-name=${this.#nodeName}`,
        `--chain-prefix=${iptablesChain}`,
        ...(networkPolicy ? ['--network-policy', `--pod-bridge=${bridge}`] : []),
        ...(hasPods ? [] : ['--overlay=observe', `--cluster-cidr=${podRange}`, `--public-ip=${subnet.gateway}`]),
        ...(dns ? [`--dns-listen=${subnet.gateway}:${DNS_PORT}`, ...resolvConf] : []),
        ...(serviceRouting
          ? [
              `--pod-cidr=${hasPods ? subnet.cidr : (podRange ?? '')}`,
              `--service-cidr=${serviceRange}`,
              ...admitted,
              ...nodePorts.map((port) => `--keep=${subnet.gateway}:${port}/tcp`),
              `--load-balancer-address=${subnet.gateway}`,
              ...(allowLoopbackNodePorts(this.#instance) ? ['--loopback-node-ports'] : []),
            ]
          : []),
      ],
      log: nodeNetworkLog,
      pidFile: nodeNetworkPidFile(this.#instance),
      ready: '"serving"',
    });
  }

  #startNodeStorage(): RunningProgram | undefined {
    if (!this.#options.storage) return undefined;
    const { nodeStorageConfig, nodeStorageLog, storageDir } = this.#instance;
    return this.#start({
      name: 'the program for volumes',
      command: programPath('kubelet-node-storage'),
      args: [`--kubeconfig=${nodeStorageConfig}`, `--node-name=${this.#nodeName}`, `--root=${storageDir}`],
      log: nodeStorageLog,
      pidFile: nodeStoragePidFile(this.#instance),
      ready: '"serving"',
    });
  }

  #prepareAgent({ subnet, serviceRange }: ClusterRecord): Promise<{ port: number }> {
    const instance = this.#instance;
    const endpoint = this.#options.endpoint ?? `unix://${instance.containerdSocket}`;
    const clusterDns = this.#options.dns ? [addressInRange(serviceRange, DNS_INDEX)] : [];
    return writeAgentConfig(instance, endpoint, this.#options.cgroupDriver, {
      address: subnet.gateway,
      requestServingCertificate: true,
      clientCaFile: authorityFile(instance),
      clusterDns,
      clusterDomain: 'cluster.local',
    });
  }

  #startAgent({ subnet }: ClusterRecord, page: NodePageFacts): void {
    const instance = this.#instance;
    this.#start({
      name: 'the agent',
      command: kubeletProgram,
      args: [
        ...[
          '--config',
          instance.kubeletConfig,
          '--root-dir',
          instance.kubeletRoot,
          '--cert-dir',
          join(instance.nodeDir, 'pki'),
          '--kubeconfig',
          agentConfig(instance),
          '--bootstrap-kubeconfig',
          bootstrapConfig(instance),
        ],
        ...nodeNameArguments(this.#nodeName),
        ...['--node-ip', subnet.gateway],
        ...page.args,
        ...this.#options.agentArgs,
      ],
      log: instance.kubeletLog,
      pidFile: kubeletPidFile(instance),
    });
  }

  /** Where the example is served, if it is there. */
  async #waitForPods({ api }: ClusterClient, nodeNames = [this.#nodeName]): Promise<string | undefined> {
    const shown = new Map<string, string>();
    const over = new AbortController();
    const either = AbortSignal.any([this.#signal, over.signal]);
    followPods(
      api,
      (list) => {
        for (const pod of list() as readonly PodView[]) {
          const line = podLine(pod);
          if (shown.get(pod.metadata.name) !== line) this.#done(line);
          shown.set(pod.metadata.name, line);
        }
      },
      either,
    );
    try {
      const sinceMs = this.#clock.nowMs() - (this.#clock.monotonicMs() - this.#startMs);
      await Promise.all(
        nodeNames.map(async (name) => {
          await whenNodeReady(api, name, { sinceMs, signal: either });
          this.#done(`node ${name} is ready`);
        }),
      );
      if (!(await exists(api, services, exampleService)) || !this.#options.example) return undefined;
      await whenAvailable(api, exampleDeployment, either);
      const url = `http://${(await api.get(services, exampleService)).spec.clusterIP}`;
      if (this.#options.serviceRouting) await whenServed(url, either);
      if (!this.#signal.aborted) this.#done(`nginx is served on ${url}`);
      return url;
    } finally {
      over.abort();
    }
  }
}

export const stopCommand = (instance: Instance): string =>
  instance.dataDir === DEFAULT_DATA_DIR ? 'npm run down' : `npm run down -- --data ${instance.dataDir}`;
