/** The programs of a cluster's own machine, with their flags. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { kubeletProgram, nodeNameArguments, programPath, RESOLVED_CONF } from '../agent.ts';
import type { Instance } from '../instance.ts';
import { allowLoopbackNodePorts, podBridge } from '../network.ts';
import type { NodePageFacts } from '../node-page.ts';
import { controlPlanePidFile, kubeletPidFile, nodeNetworkPidFile, nodeStoragePidFile } from '../teardown.ts';
import { DNS_PORT } from './cluster-objects.ts';
import type { ClusterRecord } from './cluster-record.ts';
import { agentConfig, authorityFile, bootstrapConfig } from './credentials.ts';
import { admitNames, machineNetworkArguments, nameArguments, overlayNumber } from './machine-network.ts';
import type { Program } from './program.ts';

export interface ClusterPlace {
  readonly instance: Instance;
  readonly record: ClusterRecord;
  /** Where API server, agent and name service listen. */
  readonly address: string;
  readonly nodeName: string;
}

export function controlPlaneProgram(
  {
    instance,
    record,
    address,
  }: Pick<ClusterPlace, 'instance' | 'address'> & {
    readonly record: Pick<ClusterRecord, 'serviceRange' | 'podRange' | 'apiPort'>;
  },
  args: readonly string[],
): Program {
  const { serviceRange, podRange, apiPort } = record;
  return {
    name: 'the control plane',
    command: programPath('kubelet-control-plane'),
    args: [
      `--data-dir=${instance.controlPlaneDir}`,
      `--secure-port=${apiPort}`,
      `--bind-address=${address}`,
      `--advertise-address=${address}`,
      `--service-cluster-ip-range=${serviceRange}`,
      ...(podRange === undefined ? [] : ['--allocate-node-cidrs', `--cluster-cidr=${podRange}`]),
      // The name of this machine need not be known to anybody; kubeadm's order.
      '--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname',
      // Nodes ask for what they serve with, as they do for what they prove themselves with; what they then show is
      // checked.
      '--approve-kubelet-serving',
      `--kubelet-certificate-authority=${authorityFile(instance)}`,
      ...args,
    ],
    log: instance.controlPlaneLog,
    pidFile: controlPlanePidFile(instance),
    ready: '"serving"',
  };
}

export interface NetworkChoices {
  readonly dns: boolean;
  readonly serviceRouting: boolean;
  readonly networkPolicy: boolean;
  /** Where the pods are: on this machine alone; here and on machines that joined; on nodes beside this machine. */
  readonly pods: 'here' | 'everywhere' | 'elsewhere';
  /** What the agent serves on the node's address. No service takes these ports. */
  readonly nodePorts: readonly number[];
  /** Further flags, behind ours. */
  readonly args: readonly string[];
}

/** Undefined: there is nothing for it to do. */
export function nodeNetworkProgram(place: ClusterPlace, choices: NetworkChoices): Program | undefined {
  const { instance, record, address, nodeName } = place;
  const { dns, serviceRouting, pods } = choices;
  const networkPolicy = choices.networkPolicy && pods !== 'elsewhere';
  if (!dns && !serviceRouting && !networkPolicy && pods === 'here') return undefined;
  const { subnet, serviceRange, podRange = '', apiPort } = record;
  const bridge = pods === 'everywhere' ? podBridge(instance) : instance.bridge;
  const admitted = [`${apiPort}/tcp`, `${DNS_PORT}/tcp`, `${DNS_PORT}/udp`].map((port) => `--admit=${address}:${port}`);
  const resolvConf = existsSync(RESOLVED_CONF) ? [`--resolv-conf=${RESOLVED_CONF}`] : [];
  return {
    name: 'the program for names and services',
    command: programPath('kubelet-node-network'),
    args: [
      `--kubeconfig=${instance.nodeNetworkConfig}`,
      `--node-name=${nodeName}`,
      ...(pods === 'everywhere'
        ? [...machineNetworkArguments(instance, overlayNumber(instance)), ...overlayArguments(place, bridge)]
        : [`--chain-prefix=${instance.iptablesChain}`]),
      ...(networkPolicy ? ['--network-policy', `--pod-bridge=${bridge}`] : []),
      ...(pods === 'elsewhere' ? ['--overlay=observe', `--cluster-cidr=${podRange}`, `--public-ip=${address}`] : []),
      ...(dns ? [`--dns-listen=${address}:${DNS_PORT}`, ...resolvConf] : []),
      ...(dns && pods === 'everywhere' ? nameArguments(instance) : []),
      ...(serviceRouting
        ? [
            `--pod-cidr=${pods === 'here' ? subnet.cidr : podRange}`,
            `--service-cidr=${serviceRange}`,
            ...admitted,
            ...(dns && pods === 'everywhere' ? admitNames(instance) : []),
            ...choices.nodePorts.map((port) => `--keep=${address}:${port}/tcp`),
            `--load-balancer-address=${address}`,
            ...(allowLoopbackNodePorts(bridge) ? ['--loopback-node-ports'] : []),
          ]
        : []),
      ...choices.args,
    ],
    log: instance.nodeNetworkLog,
    pidFile: nodeNetworkPidFile(instance),
    ready: '"serving"',
  };
}

function overlayArguments({ instance, record, address }: ClusterPlace, bridge: string): string[] {
  return [
    ...['--overlay=vxlan', `--cluster-cidr=${record.podRange ?? ''}`, `--public-ip=${address}`],
    ...cniArguments(instance, bridge),
  ];
}

/** The configuration of the CNI, which the overlay writes when the node has its range. */
export const cniArguments = (instance: Instance, bridge: string): string[] => [
  ...[`--cni-bridge=${bridge}`, `--cni-config=${join(instance.cniConfDir, '10-kubelet-ts.conflist')}`],
  ...[`--cni-network=${instance.networkName}`, `--cni-data-dir=${instance.ipamDir}`],
];

export function nodeStorageProgram({ instance, nodeName }: Pick<ClusterPlace, 'instance' | 'nodeName'>): Program {
  return {
    name: 'the program for volumes',
    command: programPath('kubelet-node-storage'),
    args: [`--kubeconfig=${instance.nodeStorageConfig}`, `--node-name=${nodeName}`, `--root=${instance.storageDir}`],
    log: instance.nodeStorageLog,
    pidFile: nodeStoragePidFile(instance),
    ready: '"serving"',
  };
}

export function agentProgram(
  { instance, address, nodeName }: Pick<ClusterPlace, 'instance' | 'address' | 'nodeName'>,
  page: NodePageFacts | undefined,
  args: readonly string[],
): Program {
  return {
    name: 'the agent',
    command: kubeletProgram,
    args: [
      ...['--config', instance.kubeletConfig, '--root-dir', instance.kubeletRoot],
      ...['--cert-dir', join(instance.nodeDir, 'pki'), '--kubeconfig', agentConfig(instance)],
      ...['--bootstrap-kubeconfig', bootstrapConfig(instance)],
      ...nodeNameArguments(nodeName),
      ...['--node-ip', address],
      ...(page?.args ?? []),
      ...args,
    ],
    log: instance.kubeletLog,
    pidFile: kubeletPidFile(instance),
  };
}
