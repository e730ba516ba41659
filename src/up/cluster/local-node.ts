/** A node of `up --nodes`: its own containerd, agent, cgroups, host name and network namespace on this machine. */
import { copyFileSync, cpSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { kubeletProgram, programPath, writeAgentConfig } from '../agent.ts';
import type { Instance } from '../instance.ts';
import { hostPort } from '../ip-families.ts';
import { podBridge } from '../network.ts';
import type { Subnet } from '../subnet.ts';
import { addNodeSpace } from '../node-space.ts';
import { kubeletPidFile, nodeNetworkPidFile, nodeStoragePidFile } from '../teardown.ts';
import { DNS_PORT } from './cluster-objects.ts';
import { cniArguments } from './cluster-programs.ts';
import { agentConfig, authorityFile, bootstrapConfig } from './credentials.ts';
import type { Program, RunningProgram } from './program.ts';
import type { RuntimeOptions } from './runtime.ts';
import { startNodeRuntime } from './runtime.ts';

export interface LocalNode {
  readonly name: string;
  readonly instance: Instance;
  /** Addresses on the cluster's bridge, one for each family. */
  readonly addresses: readonly string[];
}

export interface LocalNodeFacts extends Pick<RuntimeOptions, 'cgroupDriver' | 'runtimeHandlers' | 'say' | 'signal'> {
  /** The instance of the whole cluster: its bridge, its files. */
  readonly cluster: Instance;
  /** Of the bridge, one for each family. */
  readonly subnets: readonly Subnet[];
  /** One for each family, with commas between them. */
  readonly podRange: string;
  readonly serviceRange: string;
  readonly clusterDns: readonly string[];
  /** `kubelet-node-network` of the node answers DNS at these addresses. */
  readonly servesNames: boolean;
  readonly serviceRouting: boolean;
  readonly networkPolicy: boolean;
  readonly storage: boolean;
  readonly agentArgs: readonly string[];
  readonly nodeNetworkArgs: readonly string[];
  /** Starts a program and supervises it. */
  readonly start: (program: Program) => RunningProgram;
}

/** The bridge for pods in a node's network namespace. */
const POD_BRIDGE = 'cni0';

/** Starts what needs no API server: network and runtime, with the images that pods need. */
export async function startLocalRuntime({ instance, addresses }: LocalNode, facts: LocalNodeFacts): Promise<void> {
  const { cluster, subnets, cgroupDriver, runtimeHandlers, say, signal } = facts;
  for (const folder of [instance.runDir, instance.nodeDir, instance.staticPodsDir, instance.cniConfDir])
    mkdirSync(folder, { recursive: true });
  const links = subnets.map(({ gateway, prefixLength }, at) => ({
    ...{ gateway, address: `${addresses[at] ?? ''}/${prefixLength}` },
  }));
  await addNodeSpace(instance, { bridge: cluster.bridge, links });
  cpSync(cluster.registryCertsDir, instance.registryCertsDir, { recursive: true });
  await startNodeRuntime(instance, {
    endpoint: undefined,
    cgroupDriver,
    runtimeHandlers,
    network: 'later',
    say,
    signal,
  });
}

/** Starts the programs; resolves when the programs beside the agent serve. The credentials must exist. */
export async function startLocalPrograms(node: LocalNode, facts: LocalNodeFacts): Promise<void> {
  const { cluster, storage, start } = facts;
  const { instance } = node;
  for (const [from, to] of [
    [bootstrapConfig(cluster), bootstrapConfig(instance)],
    [cluster.nodeNetworkConfig, instance.nodeNetworkConfig],
    [cluster.nodeStorageConfig, instance.nodeStorageConfig],
  ] as const)
    if (existsSync(from)) copyFileSync(from, to);
  await writeAgentConfig(instance, `unix://${instance.containerdSocket}`, facts.cgroupDriver, {
    address: node.addresses[0] ?? '',
    requestServingCertificate: true,
    clientCaFile: authorityFile(cluster),
    clusterDns: facts.clusterDns,
    clusterDomain: 'cluster.local',
  });
  start(onNode(node, agentOf(node, facts)));
  const beside = [
    start(
      onNode(
        node,
        networkOf(node, facts, [
          `--subnet-file=${join(instance.dataDir, 'subnet.env')}`,
          // Names outside the cluster are resolved by the cluster's name service, because the machine's may be on its
          // loopback network.
          ...(facts.servesNames ? facts.clusterDns : []).map((ip) => `--dns-local-address=${ip}`),
          ...(facts.servesNames ? facts.subnets.slice(0, 1) : []).map(
            ({ gateway }) => `--dns-upstream=${hostPort(gateway, DNS_PORT)}`,
          ),
          ...facts.nodeNetworkArgs,
        ]),
      ),
    ),
  ];
  if (storage) beside.push(start(onNode(node, storageOf(node))));
  await Promise.all(beside.map(({ ready }) => ready));
}

function onNode({ instance }: LocalNode, program: Program): Program {
  const [command = '', ...args] = [...instance.enter, program.command, ...program.args];
  return { ...program, command, args };
}

function agentOf({ name, instance, addresses }: LocalNode, { agentArgs }: LocalNodeFacts): Program {
  return {
    name: `the agent of ${name}`,
    command: kubeletProgram,
    args: [
      ...['--config', instance.kubeletConfig, '--root-dir', instance.kubeletRoot],
      ...['--cert-dir', join(instance.nodeDir, 'pki'), '--kubeconfig', agentConfig(instance)],
      ...['--bootstrap-kubeconfig', bootstrapConfig(instance)],
      ...['--hostname-override', name, '--node-ip', addresses.join()],
      ...agentArgs,
    ],
    log: instance.kubeletLog,
    pidFile: kubeletPidFile(instance),
  };
}

type NetworkFacts = Pick<LocalNodeFacts, 'podRange' | 'serviceRange' | 'serviceRouting' | 'networkPolicy'>;

/**
 * The network of one node of several: in its own namespace with fixed names, or of a machine, with `args` for its
 * names.
 */
export function networkOf(
  { name, instance, addresses }: LocalNode,
  facts: NetworkFacts,
  args: readonly string[],
): Program {
  const { podRange, serviceRange, serviceRouting, networkPolicy } = facts;
  const bridge = instance.enter.length > 0 ? POD_BRIDGE : podBridge(instance);
  return {
    name: `names and services of ${name}`,
    command: programPath('kubelet-node-network'),
    args: [
      `--kubeconfig=${instance.nodeNetworkConfig}`,
      `--node-name=${name}`,
      ...['--overlay=vxlan', `--cluster-cidr=${podRange}`, `--public-ip=${addresses.join()}`],
      ...cniArguments(instance, bridge),
      ...args,
      ...(networkPolicy ? ['--network-policy', `--pod-bridge=${bridge}`] : []),
      ...(serviceRouting ? [`--pod-cidr=${podRange}`, `--service-cidr=${serviceRange}`] : []),
    ],
    log: instance.nodeNetworkLog,
    pidFile: nodeNetworkPidFile(instance),
    ready: '"serving"',
  };
}

function storageOf({ name, instance }: LocalNode): Program {
  return {
    name: `the volumes of ${name}`,
    command: programPath('kubelet-node-storage'),
    args: [`--kubeconfig=${instance.nodeStorageConfig}`, `--node-name=${name}`, `--root=${instance.storageDir}`],
    log: instance.nodeStorageLog,
    pidFile: nodeStoragePidFile(instance),
    ready: '"serving"',
  };
}
