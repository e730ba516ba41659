/** The programs that run beside the API server, with their flags. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { kubeletProgram, nodeNameArguments, programPath, RESOLVED_CONF } from '../agent.ts';
import type { Instance } from '../instance.ts';
import type { Family } from '../ip-families.ts';
import { familyOf, hostPort } from '../ip-families.ts';
import { allowLoopbackNodePorts, podBridge } from '../network.ts';
import type { NodePageFacts } from '../node-page.ts';
import { controlPlanePidFile, kubeletPidFile, nodeNetworkPidFile, nodeStoragePidFile } from '../teardown.ts';
import { DNS_PORT } from './cluster-objects.ts';
import type { ClusterRecord, ServedRanges } from './cluster-record.ts';
import { podRangesOf, rangesOf, serviceRangesOf } from './cluster-record.ts';
import { agentConfig, authorityFile, bootstrapConfig } from './credentials.ts';
import { admitNames, machineNetworkArguments, nameArguments, overlayNumber } from './machine-network.ts';
import type { Program } from './program.ts';

export interface ClusterPlace {
  readonly instance: Instance;
  readonly record: ClusterRecord;
  /** Where API server and agent listen. */
  readonly address: string;
  /** One address for each family, `address` first. The name service listens on all of them. */
  readonly addresses: readonly string[];
  readonly nodeName: string;
}

/** `record` has the ranges of all families, separated by commas. */
export function controlPlaneProgram(
  { instance, record, addresses }: Pick<ClusterPlace, 'instance' | 'addresses'> & { readonly record: ServedRanges },
  args: readonly string[],
): Program {
  const { serviceRange, podRange = '', apiPort } = record;
  const [address, ...others] = addresses;
  return {
    name: 'the control plane',
    command: programPath('kubelet-control-plane'),
    args: [
      `--data-dir=${instance.controlPlaneDir}`,
      `--secure-port=${apiPort}`,
      `--bind-address=${address}`,
      `--advertise-address=${address}`,
      ...others.map((ip) => `--cert-sans=${ip}`),
      `--service-cluster-ip-range=${serviceRange}`,
      ...(podRange === '' ? [] : ['--allocate-node-cidrs', `--cluster-cidr=${podRange}`]),
      // Other machines may not resolve the name of this machine. The order is kubeadm's.
      '--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname',
      // Nodes request serving certificates in the same way as client certificates; the API server then verifies
      // them.
      '--approve-kubelet-serving',
      `--kubelet-certificate-authority=${authorityFile(instance)}`,
      ...args,
    ],
    log: instance.controlPlaneLog,
    pidFile: controlPlanePidFile(instance),
    ready: '"serving"',
  };
}

const familiesIn = (addresses: readonly string[]): readonly Family[] => addresses.map(familyOf);

export interface NetworkChoices {
  readonly dns: boolean;
  readonly serviceRouting: boolean;
  readonly networkPolicy: boolean;
  /** Where pods run: only on this machine; here and on machines that joined; on nodes other than this machine. */
  readonly pods: 'here' | 'everywhere' | 'elsewhere';
  /** The ports that the agent serves on the node's address. Services cannot use them. */
  readonly nodePorts: readonly number[];
  /** Further flags, added after our own. */
  readonly args: readonly string[];
}

/** Undefined when the program has nothing to do. */
export function nodeNetworkProgram(place: ClusterPlace, choices: NetworkChoices): Program | undefined {
  const { instance, record, addresses, nodeName } = place;
  const { dns, serviceRouting, pods } = choices;
  const networkPolicy = choices.networkPolicy && pods !== 'elsewhere';
  if (!dns && !serviceRouting && !networkPolicy && pods === 'here') return undefined;
  const podRanges = podRangesOf(record).join();
  const subnets = rangesOf(record).map(({ subnet }) => subnet.cidr);
  const bridge = pods === 'everywhere' ? podBridge(instance) : instance.bridge;
  const admitted = addresses.flatMap((ip) => [
    `--admit=${hostPort(ip, record.apiPort)}/tcp`,
    ...['tcp', 'udp'].map((protocol) => `--admit=${hostPort(ip, DNS_PORT)}/${protocol}`),
  ]);
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
      ...(pods === 'elsewhere'
        ? ['--overlay=observe', `--cluster-cidr=${podRanges}`, `--public-ip=${addresses.join()}`]
        : []),
      ...(dns ? [...addresses.map((ip) => `--dns-listen=${hostPort(ip, DNS_PORT)}`), ...resolvConf] : []),
      ...(dns && pods === 'everywhere' ? nameArguments(instance, familiesIn(addresses)) : []),
      ...(serviceRouting
        ? [
            `--pod-cidr=${pods === 'here' ? subnets.join() : podRanges}`,
            `--service-cidr=${serviceRangesOf(record).join()}`,
            ...admitted,
            ...(dns && pods === 'everywhere' ? admitNames(instance, familiesIn(addresses)) : []),
            ...choices.nodePorts.flatMap((port) => addresses.map((ip) => `--keep=${hostPort(ip, port)}/tcp`)),
            `--load-balancer-address=${addresses.join()}`,
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

function overlayArguments({ instance, record, addresses }: ClusterPlace, bridge: string): string[] {
  return [
    ...['--overlay=vxlan', `--cluster-cidr=${podRangesOf(record).join()}`, `--public-ip=${addresses.join()}`],
    ...cniArguments(instance, bridge),
  ];
}

/** The CNI configuration, which the overlay writes when the node has its range. */
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
  { instance, addresses, nodeName }: Pick<ClusterPlace, 'instance' | 'addresses' | 'nodeName'>,
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
      ...['--node-ip', addresses.join()],
      ...(page?.args ?? []),
      ...args,
    ],
    log: instance.kubeletLog,
    pidFile: kubeletPidFile(instance),
  };
}
