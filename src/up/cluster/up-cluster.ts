/** A cluster of one node. Everything that does not depend on something else starts immediately. */
import { mkdirSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { systemClock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import { csiDrivers, runtimeClasses, storageClasses } from '../../api/client/resource-types.ts';
import { freePort, writeAgentConfig } from '../agent.ts';
import type { Registry } from '../images/registry-push.ts';
import { prepareNodePage } from '../node-page.ts';
import type { Instance } from '../instance.ts';
import { checkSocketPaths, DEFAULT_DATA_DIR, deriveInstance } from '../instance.ts';
import { claimPodRange, claimServiceRange, keepBridgeUp, setUpNetwork } from '../network.ts';
import { enterNode } from '../node-space.ts';
import type { CgroupDriver, ContainerdFacts } from '../runtime-config.ts';
import type { RuntimeHandlers } from '../runtime-handlers.ts';
import { runtimeClassesOf } from '../runtime-handlers.ts';
import type { Family, FamilyChoice } from '../ip-families.ts';
import { addressInRange, familiesOf, familyOf, hostPort } from '../ip-families.ts';
import { rangesOfSubnet } from '../subnet6.ts';
import type { ClusterClient } from './cluster-client.ts';
import { applyObjects, createMissing, openClusterClient } from './cluster-client.ts';
import { buildClusterImages } from './cluster-images.ts';
import {
  bootstrapTokenSecret,
  defaultStorageClass,
  DNS_PORT,
  nameService,
  nodeNetworkRights,
  nodeStorageRights,
  storageDriver,
} from './cluster-objects.ts';
import type { ClusterRanges, ClusterRecord } from './cluster-record.ts';
import {
  chooseClusterRecord,
  chooseFamilies,
  podRangesOf,
  rangesOf,
  readClusterRecord,
  servedRanges,
  serviceRangesOf,
  writeClusterRecord,
} from './cluster-record.ts';
import { renderLocalSummary, renderSummary, stepLine } from './cluster-view.ts';
import { agentProgram, controlPlaneProgram, nodeNetworkProgram, nodeStorageProgram } from './cluster-programs.ts';
import type { ClusterPlace, NetworkChoices } from './cluster-programs.ts';
import {
  authorityFile,
  ensureClusterAuthority,
  ensureProgramConfigs,
  newBootstrapToken,
  writeBootstrapConfig,
} from './credentials.ts';
import type { LocalNode, LocalNodeFacts } from './local-node.ts';
import type { JoinFacts } from './join-facts.ts';
import { startLocalPrograms, startLocalRuntime } from './local-node.ts';
import { checkOwnAddress, nameAddress, overlayNumber, prepareMachineNetwork } from './machine-network.ts';
import { firewallLines, offerJoin } from './offer-join.ts';
import type { Program, RunningProgram } from './program.ts';
import { keepRunning } from './program.ts';
import { prepareRegistry, publish } from './registry.ts';
import { releaseNodes } from './release-nodes.ts';
import { startNodeRuntime } from './runtime.ts';
import { applyExample } from './seed.ts';
import { waitUntilServed } from './wait-until-served.ts';

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
  /** Nodes in their own namespaces; undefined: the machine is the node. */
  readonly nodes: number | undefined;
  /**
   * The addresses of this machine, one for each family, by which other machines reach and join it; undefined: none can.
   */
  readonly listen: readonly string[] | undefined;
  /** Undefined: as at the last start, or IPv4. */
  readonly ipFamily: FamilyChoice | undefined;
  /** Flags for the agent, added after our own. */
  readonly agentArgs: readonly string[];
  /** Flags for the control plane, added after our own. */
  readonly controlPlaneArgs: readonly string[];
  /** Flags for the programs for names and services, added after our own. */
  readonly nodeNetworkArgs: readonly string[];
  readonly detached: boolean;
  readonly stopCommand: string;
  readonly say: (message: string) => void;
}

/**
 * In the network of each node: the link-local address of Kubernetes' NodeLocal DNSCache add-on; for IPv6, see
 * subnet6.ts.
 */
const LOCAL_NAMES = '169.254.20.10';
/** The tenth address, as in kubeadm. */
const DNS_INDEX = 10;

/** Resolves when the cluster serves; its programs are supervised until `signal` aborts. Rejects when it cannot. */
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
    const place = this.#place(record);
    const registryHost = hostPort(this.#registryAddress(subnet.gateway), record.registryPort);
    const server = `https://${hostPort(place.address, apiPort)}`;
    const registry = await prepareRegistry(this.#instance, registryHost);
    const programs = {
      registry: this.#start(registry.program),
      controlPlane: this.#start(
        controlPlaneProgram({ ...place, record: servedRanges(record) }, this.#options.controlPlaneArgs),
      ),
    };
    // The first caller that waits reports the failure.
    const images = this.#publishImages(
      programs.registry,
      registry.access,
      rangesOf(record).map((each) => familyOf(each.serviceRange)),
    );
    const runtime = nodes.length === 0 ? this.#startRuntime() : this.#startLocalRuntimes(nodes, record);
    const cluster = this.#prepareCluster(programs.controlPlane, record, server);
    for (const each of [images, runtime, cluster]) each.catch(() => undefined);
    const [facts, client] = await Promise.all([runtime, cluster]);
    try {
      if (nodes.length > 0) return await this.#startLocalNodes(nodes, record, { client, images });
      const page = await prepareNodePage(this.#instance, subnet.gateway);
      const kubelet = await this.#prepareAgent(place);
      const network = this.#startNodeNetwork(place, [kubelet.port, page.port]);
      const storage = this.#options.storage ? this.#start(nodeStorageProgram(place)) : undefined;
      this.#start(agentProgram(place, page, this.#options.agentArgs));
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
          kubeletUrl: `https://${hostPort(place.address, kubelet.port)}`,
          clusterDns: this.#options.dns ? nameAddresses(record).join(', ') : undefined,
          serviceRange: this.#options.serviceRouting ? serviceRangesOf(record).join(' and ') : undefined,
          storageDir: this.#options.storage ? this.#instance.storageDir : undefined,
          registry: registryHost,
          example,
          dataDir: this.#instance.dataDir,
          adminConfig: this.#instance.adminConfig,
          stop: this.#options.stopCommand,
          detached: this.#options.detached,
          joining: this.#joiningLines(record),
        }).join('\n'),
      );
    } finally {
      client.close();
    }
  }

  /** The network first: its gateway is the address of everything else. */
  async #prepare(): Promise<ClusterRecord> {
    const instance = this.#instance;
    checkSocketPaths(instance);
    const { listen, nodes, say } = this.#options;
    for (const each of listen ?? []) checkOwnAddress(each);
    const before = readClusterRecord(instance);
    const families = familiesOf(chooseFamilies(before, this.#options.ipFamily));
    for (const folder of [instance.runDir, instance.controlPlaneDir, instance.staticPodsDir, instance.registryCertsDir])
      mkdirSync(folder, { recursive: true });
    await ensureClusterAuthority(instance);
    const known = before === undefined ? [] : rangesOf(before);
    const subnets = await setUpNetwork(instance, say, {
      families,
      wanted: known.map(({ subnet }) => subnet),
      pods: listen === undefined ? 'here' : 'elsewhere',
    });
    await keepBridgeUp(instance);
    const isAlone = nodes === undefined && listen === undefined;
    const ranges: ClusterRanges[] = [];
    for (const [at, subnet] of subnets.entries()) {
      const serviceRange = await claimServiceRange(instance, known[at]?.serviceRange, subnet);
      const podRange = isAlone ? known[at]?.podRange : await claimPodRange(instance, known[at]?.podRange, subnet);
      ranges.push({ subnet, serviceRange, ...(podRange !== undefined && { podRange }) });
    }
    const [first, ...others] = ranges;
    if (first === undefined) throw new KubeletError('Internal', 'a cluster without an IP family');
    const { gateway } = first.subnet;
    const record = await chooseClusterRecord(before, {
      ranges: [first, ...others],
      controlPlaneArgs: this.#options.controlPlaneArgs,
      ...{
        address: this.#addressesOf(ranges)[0] ?? gateway,
        registryAddress: this.#registryAddress(gateway),
        freePort,
      },
    });
    writeClusterRecord(instance, record);
    if (listen !== undefined) await prepareMachineNetwork(instance, overlayNumber(instance), families);
    return record;
  }

  /** The address of API server, agent and name service. */
  #addressesOf(ranges: readonly ClusterRanges[]): readonly string[] {
    return this.#options.listen ?? ranges.map(({ subnet }) => subnet.gateway);
  }

  #place(record: ClusterRecord): ClusterPlace {
    const addresses = this.#addressesOf(rangesOf(record));
    return { instance: this.#instance, record, address: addresses[0] ?? '', addresses, nodeName: this.#nodeName };
  }

  /** Nodes in their own network namespaces, and other machines, cannot reach the loopback network of this machine. */
  #registryAddress(gateway: string): string {
    return this.#options.listen?.[0] ?? (this.#options.nodes === undefined ? this.#instance.loopback : gateway);
  }

  #joiningLines({ apiPort, registryPort }: ClusterRecord): readonly string[] {
    const { listen: addresses } = this.#options;
    if (addresses === undefined) return [];
    return [
      ...firewallLines({ addresses, apiPort, registryPort, dnsPort: DNS_PORT }),
      `  join      ${upCommand(this.#instance)} --print-join-command prints the command for another machine`,
    ];
  }

  /** The first node is `NAME-1` with the second address of the bridge, and so on. */
  #localNodes(record: ClusterRecord): LocalNode[] {
    return Array.from({ length: this.#options.nodes ?? 0 }, (_, at) => {
      const name = `${this.#nodeName}-${at + 1}`;
      const instance = deriveInstance(join(this.#instance.nodesDir, `${at + 1}`));
      const enter = enterNode(instance, name);
      // It has its own network namespace, so no other cluster uses its loopback address.
      const own = { ...instance, enter, loopback: '127.0.0.1' };
      const addresses = rangesOf(record).map(({ subnet }) => addressInRange(subnet.cidr, at + 2));
      return { name, instance: own, addresses };
    });
  }

  #localFacts(record: ClusterRecord): LocalNodeFacts {
    const {
      cgroupDriver,
      runtimeHandlers,
      say,
      serviceRouting,
      networkPolicy,
      storage,
      agentArgs,
      nodeNetworkArgs,
      dns,
    } = this.#options;
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
      ...{ cluster: this.#instance, subnets: rangesOf(record).map(({ subnet }) => subnet) },
      ...{ podRange: podRangesOf(record).join(), serviceRange: serviceRangesOf(record).join(), nodeNetworkArgs },
      servesNames: dns,
      clusterDns: dns ? localNames(record) : nameAddresses(record),
      start: (program) => this.#start(program),
    };
  }

  #nodeNames(record: ClusterRecord): readonly string[] {
    const names = this.#localNodes(record).map(({ name }) => name);
    return names.length > 0 ? names : [this.#nodeName];
  }

  /** Concurrently. */
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
    const network = this.#startNodeNetwork(this.#place(record), []);
    const programs = nodes.map((node) => startLocalPrograms(node, this.#localFacts(record)));
    await Promise.all([images, network?.ready, ...programs]);
    const example = await this.#waitForPods(
      client,
      nodes.map(({ name }) => name),
    );
    this.#options.say(
      renderLocalSummary({
        nodes: nodes.map(({ name, addresses, instance }) => ({ name, addresses, dataDir: instance.dataDir })),
        example,
        ...{ dataDir: this.#instance.dataDir, adminConfig: this.#instance.adminConfig },
        ...{ stop: this.#options.stopCommand, detached: this.#options.detached },
      }).join('\n'),
    );
  }

  #start(program: Program): RunningProgram {
    return keepRunning(program, { clock: this.#clock, signal: this.#signal, say: this.#options.say });
  }

  #done(text: string): void {
    this.#options.say(stepLine(this.#clock.monotonicMs() - this.#startMs, text));
  }

  async #publishImages({ ready }: RunningProgram, access: Registry, families: readonly Family[]): Promise<void> {
    const images = await buildClusterImages(families);
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
      network: this.#options.listen === undefined ? 'made' : 'later',
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

  /** As soon as the API server serves: creates the first objects and the example, whose pods wait for the node. */
  async #prepareCluster({ ready }: RunningProgram, record: ClusterRecord, server: string): Promise<ClusterClient> {
    await ready;
    this.#done(`the API server serves on ${server}`);
    await ensureProgramConfigs(this.#instance, server);
    const client = openClusterClient(this.#instance.adminConfig);
    const token = newBootstrapToken(this.#clock.nowMs());
    writeBootstrapConfig(this.#instance, { server, ca: readFileSync(authorityFile(this.#instance), 'utf8'), token });
    const { listen, nodes, dns, storage } = this.#options;
    await applyObjects(client.api, [
      bootstrapTokenSecret(token),
      ...nodeNetworkRights(nodes !== undefined || listen !== undefined),
      ...(storage ? nodeStorageRights() : []),
      ...(dns ? nameService(nameAddresses(record), this.#place(record).addresses) : []),
      ...(listen === undefined ? [] : offerJoin(this.#instance, this.#joinFacts(record, listen))),
    ]);
    for (const each of runtimeClassesOf(this.#options.runtimeHandlers))
      await createMissing(client.api, runtimeClasses, each);
    if (storage) {
      await createMissing(client.api, csiDrivers, storageDriver);
      await createMissing(
        client.api,
        storageClasses,
        defaultStorageClass(listen === undefined ? this.#nodeNames(record) : undefined),
      );
    }
    const nodeNames = this.#nodeNames(record);
    await releaseNodes(
      client.api,
      (record.nodeNames ?? []).filter((name) => !nodeNames.includes(name)),
    );
    const settled = { ...record, nodeNames };
    writeClusterRecord(this.#instance, settled);
    if (this.#options.example && !record.seeded) {
      const by = await applyExample(client.api, this.#instance.adminConfig);
      writeClusterRecord(this.#instance, { ...settled, seeded: true });
      this.#done(`the example was applied with ${by}`);
    }
    return client;
  }

  #joinFacts(record: ClusterRecord, listen: readonly string[]): JoinFacts {
    const { serviceRouting, networkPolicy, storage, dns } = this.#options;
    return {
      ...{ serviceRange: serviceRangesOf(record).join(), podRange: podRangesOf(record).join() },
      ...{ serviceRouting, networkPolicy, storage, registry: hostPort(listen[0] ?? '', record.registryPort) },
      clusterDns: dns ? nameAddresses(record) : [],
      overlayNumber: overlayNumber(this.#instance),
    };
  }

  #startNodeNetwork(place: ClusterPlace, nodePorts: readonly number[]): RunningProgram | undefined {
    const { nodes, listen, dns, serviceRouting, networkPolicy } = this.#options;
    const pods: NetworkChoices['pods'] =
      nodes !== undefined ? 'elsewhere' : listen === undefined ? 'here' : 'everywhere';
    const program = nodeNetworkProgram(place, {
      ...{ dns, serviceRouting, networkPolicy, pods, nodePorts, args: this.#options.nodeNetworkArgs },
    });
    return program === undefined ? undefined : this.#start(program);
  }

  #prepareAgent({ address, record }: ClusterPlace): Promise<{ port: number }> {
    const instance = this.#instance;
    const endpoint = this.#options.endpoint ?? `unix://${instance.containerdSocket}`;
    const { dns, listen } = this.#options;
    const own = rangesOf(record).map(({ serviceRange }) => nameAddress(instance, familyOf(serviceRange)));
    // Without our own DNS server, pods use the Service of the one that the user installs.
    const clusterDns = dns && listen !== undefined ? own : nameAddresses(record);
    return writeAgentConfig(instance, endpoint, this.#options.cgroupDriver, {
      address,
      requestServingCertificate: true,
      clientCaFile: authorityFile(instance),
      clusterDns,
      clusterDomain: 'cluster.local',
    });
  }

  /** The address of the example, if it exists. */
  #waitForPods(client: ClusterClient, nodeNames = [this.#nodeName]): Promise<string | undefined> {
    return waitUntilServed(client, {
      nodeNames,
      sinceMs: this.#clock.nowMs() - (this.#clock.monotonicMs() - this.#startMs),
      hasExample: this.#options.example,
      routesServices: this.#options.serviceRouting,
      signal: this.#signal,
      done: (text) => this.#done(text),
    });
  }
}

/** The address of the Service `kube-dns`. */
const nameAddresses = (record: ClusterRecord): readonly string[] =>
  serviceRangesOf(record).map((range) => addressInRange(range, DNS_INDEX));

const localNames = (record: ClusterRecord): readonly string[] =>
  rangesOf(record).map(({ subnet }) =>
    familyOf(subnet.cidr) === 'IPv4' ? LOCAL_NAMES : rangesOfSubnet(subnet).localNames,
  );

export const stopCommand = (instance: Instance): string =>
  instance.dataDir === DEFAULT_DATA_DIR ? 'npm run down' : `npm run down -- --data ${instance.dataDir}`;

const upCommand = (instance: Instance): string =>
  instance.dataDir === DEFAULT_DATA_DIR ? 'npm run up --' : `npm run up -- --data ${instance.dataDir}`;
