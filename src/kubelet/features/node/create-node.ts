import type { Node } from '../../../api/core/node.ts';
import type { ResourceList } from '../../../api/core/resource-requirements.ts';
import type { Clock } from '../../../base/clock.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import {
  computeAllocatable,
  computeCapacity,
  computePodsLimits,
  computeReservation,
  reservationProblem,
  withReservedCpus,
} from './allocatable.ts';
import { declaredFeatures } from './declared-features.ts';
import { buildNode, mergeSeenNode } from './node-object.ts';
import type { NodeIdentity } from './compute-node.ts';
import type { NetworkFacts } from './node-addresses.ts';
import { computeAddresses, hostIpsOf } from './node-addresses.ts';
import { NodeStatusChanges } from './node-status-sources.ts';
import type { NodeWatch } from './node-watch.ts';
import { createNodeWatch, noNodeWatch } from './node-watch.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import { groupLimitsOf } from '../../model/group-limits.ts';
import type { CgroupLimits } from '../../ports/cgroups.ts';
import type { RuntimeHealth } from '../../ports/runtime.ts';
import type { ClusterApi } from '../../ports/cluster-api.ts';
import type { MachineFacts } from '../../ports/machine-facts.ts';
import type { NodeNetwork } from '../../ports/node-network.ts';

/** The node: its capacity and reservations, and its state for other components. */
export interface NodeParts {
  readonly capacity: ResourceList;
  readonly allocatable: ResourceList;
  /** The memory minus the reservations for the system and Kubernetes, even if these are not enforced. */
  readonly memoryForPodsBytes: number;
  /** The limits of all pods together, for their common cgroup. */
  readonly podsCgroupLimits: CgroupLimits;
  /**
   * Returns the node for admission: the API server's object, which has the labels and taints, with this machine's own
   * facts. On a standalone node, and while the node is not registered, it is the object built here (upstream:
   * getNodeAnyWay). It includes the current state of the runtime.
   */
  readonly object: (health: RuntimeHealth | undefined) => Node;
  /** Returns the node as built here, without changes by other clients. */
  readonly local: (health: RuntimeHealth | undefined) => Node;
  /** The watch of the node in the API. Pods of the API are admitted only after it has synced. */
  readonly watch: NodeWatch;
  /** Returns the node's addresses for pods, primary family first. */
  readonly hostIps: () => readonly string[];
  /** Returns the address for probes and hooks of pods on the host's network. */
  readonly hostIp: () => string;
  /** The part of the node's status that does not change while the agent runs. */
  readonly identity: NodeIdentity;
  /** Notified by features when the status of the node changes. */
  readonly statusChanges: NodeStatusChanges;
}

/** The flags of the node. */
export interface NodeSettings {
  readonly labels: Readonly<Record<string, string>>;
  readonly externalCloudProvider: boolean;
  /** The addresses of --node-ip: none, one, or one of each family. `0.0.0.0` and `::` only choose a family. */
  readonly nodeIps: readonly string[];
  /** The Kubernetes version that the node reports. */
  readonly version: string;
  /** The flag --experimental-allocatable-ignore-eviction. */
  readonly ignoreEviction: boolean;
}

interface NodePorts {
  readonly machine: MachineFacts;
  readonly network?: NodeNetwork;
  /** The API; absent on a standalone node. */
  readonly cluster?: Pick<ClusterApi, 'objects'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/**
 * Creates the parts of the node. Throws `Invalid` if the configuration reserves more than the machine has; as upstream,
 * the agent does not start then.
 */
export function createNode(config: KubeletConfig, ports: NodePorts, settings: NodeSettings): NodeParts {
  const { machine } = ports;
  const reserved = withReservedCpus(config.reserved, machine.onlineCpus);
  if (typeof reserved === 'string') throw new KubeletError('Invalid', reserved);
  const { maxPods, podsPerCore, taints, providerId } = config.node;
  const { memoryBytes, hugePages } = machine;
  const storageBytes = config.versioned.localStorageCapacityIsolation ? machine.rootStorageBytes : undefined;
  const capacity = computeCapacity({
    cores: machine.onlineCpus.length,
    memoryBytes,
    storageBytes,
    hugePages,
    maxPods,
    podsPerCore,
  });
  const reservation = computeReservation(capacity, {
    ...reserved,
    evictionHard: settings.ignoreEviction ? {} : config.eviction.hard,
  });
  const problem = reservationProblem(capacity, reservation);
  if (problem !== undefined) throw new KubeletError('Invalid', problem);
  const allocatable = computeAllocatable(capacity, reservation);
  const { nodeName: name, architecture, addresses } = machine;
  const features = declaredFeatures(config.gates);
  const watch =
    ports.cluster === undefined
      ? noNodeWatch
      : createNodeWatch({
          client: ports.cluster.objects,
          clock: ports.clock,
          random: ports.random,
          log: ports.log,
          nodeName: name,
        });
  const local = (runtime: RuntimeHealth | undefined): Node =>
    buildNode({
      name,
      hostname: name,
      architecture,
      labels: settings.labels,
      taints,
      externalCloudProvider: settings.externalCloudProvider,
      providerId,
      controllerAttaches: config.versioned.enableControllerAttachDetach,
      addresses,
      capacity,
      allocatable,
      declaredFeatures: features,
      runtime,
    });
  const identity = identityOf(config, ports, settings, { capacity, reservation });
  const hostIps = hostIpsFor(ports, watch, identity);
  return {
    capacity,
    allocatable,
    memoryForPodsBytes: groupLimitsOf(computePodsLimits(capacity, reserved, true)).memoryBytes ?? 0,
    podsCgroupLimits: groupLimitsOf(
      computePodsLimits(
        // Processes are not a resource that pods request, but their number can be reserved.
        machine.maxPids === undefined ? capacity : { ...capacity, pid: String(machine.maxPids) },
        reserved,
        config.cgroups.perQos && config.reserved.enforce.includes('pods'),
      ),
    ),
    object: (runtime) => mergeSeenNode(watch.current(), local(runtime)),
    local,
    watch,
    identity,
    hostIps,
    hostIp: () => hostIps()[0] ?? '127.0.0.1',
    statusChanges: new NodeStatusChanges(),
  };
}

/**
 * Returns the node's addresses in the API or, before these are known, the addresses that will be published. A
 * standalone node has all addresses of the machine.
 */
function hostIpsFor(
  { cluster, network, machine }: NodePorts,
  watch: NodeWatch,
  { addresses: rules }: NodeIdentity,
): () => readonly string[] {
  if (cluster === undefined) return () => machine.addresses;
  const own = computeAddresses(rules, { named: [], ...networkOf({ network, machine }) }, []);
  const expected = own.kind === 'set' ? hostIpsOf(own.addresses) : [];
  return () => {
    const reported = hostIpsOf(watch.current()?.status?.addresses ?? []);
    return reported.length > 0 ? reported : expected.length > 0 ? expected : machine.addresses;
  };
}

/** Returns the network facts. A machine without any has the configured addresses. */
export function networkOf({
  network,
  machine,
}: {
  network?: Pick<NodeNetwork, 'read'> | undefined;
  machine: Pick<MachineFacts, 'addresses'>;
}): Pick<NetworkFacts, 'own' | 'defaults'> {
  if (network !== undefined) return network.read();
  const v4 = machine.addresses.find((address) => !address.includes(':'));
  const v6 = machine.addresses.find((address) => address.includes(':'));
  return { own: machine.addresses, defaults: { ...(v4 !== undefined && { v4 }), ...(v6 !== undefined && { v6 }) } };
}

function identityOf(
  config: KubeletConfig,
  { machine }: NodePorts,
  settings: NodeSettings,
  amounts: Pick<NodeIdentity, 'capacity' | 'reservation'>,
): NodeIdentity {
  const { architecture, machineId, systemUuid, bootId, kernelVersion, osImage, swapBytes, nodeName } = machine;
  return {
    architecture,
    machineId,
    systemUuid,
    bootId,
    kernelVersion,
    osImage,
    swapBytes,
    ...amounts,
    kubeletVersion: settings.version,
    reportsProxyVersion: !config.gates.enabled('DisableNodeKubeProxyVersion'),
    declaredFeatures: declaredFeatures(config.gates),
    serverPort: config.server.port,
    reportsLocalStorage: config.versioned.localStorageCapacityIsolation,
    addresses: { hostname: nodeName, nodeIps: settings.nodeIps, externalCloudProvider: settings.externalCloudProvider },
  };
}
